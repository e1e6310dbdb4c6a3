/** How much of its memory a process uses: of the heap that V8 may grow to, and of its container. */
import { getHeapStatistics } from "node:v8"

/** Above this share, calls are refused: a process that reaches its limit dies with all its exchanges. */
const fullShare = 0.85
/** Reading the resident memory takes longer than reading the heap. */
const residentEveryMs = 500

/** Whether memory runs short. @param nowMs a monotonic time */
export const makeMemoryWatch = (): ((nowMs: number) => boolean) => {
  const constrained = process.constrainedMemory()
  let residentShare = 0
  let readAtMs = Number.NEGATIVE_INFINITY
  return (nowMs) => {
    if (nowMs - readAtMs >= residentEveryMs) {
      readAtMs = nowMs
      residentShare = constrained > 0 ? process.memoryUsage.rss() / constrained : 0
    }
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    return used_heap_size / heap_size_limit > fullShare || residentShare > fullShare
  }
}
