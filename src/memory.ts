/** The memory that a process uses, of the heap that V8 may grow to, and of its container. */
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Above this share, calls are refused: a process that reaches its limit dies with all its exchanges. */
const fullShare = 0.85
/** Reading the resident memory takes longer than reading the heap. */
const residentEveryMs = 500
/** While calls are refused, little is allocated, and V8 would not look for garbage by itself. */
const collectEveryMs = 2000

/** V8 adds room for young objects to its limit: 3 to 5 % of it, unless the limit was set by an option. */
const oldShare = 0.95

/** `--max-old-space-size`, of the command line or of `NODE_OPTIONS`. */
const optionOf = (options: ReadonlyArray<string>): number | undefined => {
  const found = options.join(" ").matchAll(/--max[-_]old[-_]space[-_]size[= ](\d+)/g)
  const mebibytes = [...found].at(-1)?.[1]
  return mebibytes === undefined ? undefined : Number(mebibytes) * 1024 * 1024
}

/** The most bytes of surviving objects in the heap. A process that needs more dies, however few of its objects are young. */
export const heapLimitBytes =
  optionOf([process.env["NODE_OPTIONS"] ?? "", ...process.execArgv]) ?? getHeapStatistics().heap_size_limit * oldShare

/** The present bytes of that heap. */
export const heapUsedBytes = (): number => {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")
  return getHeapStatistics().used_heap_size - (young?.space_used_size ?? 0)
}

/** Makes a function that returns whether memory runs short. @param nowMs a monotonic time */
export const makeMemoryWatch = (): ((nowMs: number) => boolean) => {
  const constrained = process.constrainedMemory()
  let residentShare = 0
  let readAtMs = Number.NEGATIVE_INFINITY
  let collectedAtMs = Number.NEGATIVE_INFINITY
  return (nowMs) => {
    if (nowMs - readAtMs >= residentEveryMs) {
      readAtMs = nowMs
      residentShare = constrained > 0 ? process.memoryUsage.rss() / constrained : 0
    }
    const isShort = heapUsedBytes() / heapLimitBytes > fullShare || residentShare > fullShare
    if (isShort && nowMs - collectedAtMs >= collectEveryMs) {
      collectedAtMs = nowMs
      collectGarbage()
    }
    return isShort
  }
}

/**
 * Collects all garbage and gives its memory back: without it, a start leaves 70 MB behind until the first load.
 * The collector is not exposed unless it is asked for, which is allowed at any time.
 */
export const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" })
}
