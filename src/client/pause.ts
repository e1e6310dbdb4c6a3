/** Waits that a signal ends. */

/** A timer of more milliseconds would end at once. */
export const longestTimerMs = 2 ** 31 - 1

/** Resolves after a time; rejects with the signal's reason. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const over = () => {
      signal?.removeEventListener("abort", aborted)
      resolve()
    }
    const timer = setTimeout(over, Math.min(ms, longestTimerMs))
    const aborted = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted === true) return aborted()
    signal?.addEventListener("abort", aborted, { once: true })
  })

/** Waits for a promise that others wait for too: a signal ends only this wait. */
export const abortable = async <A>(promise: Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (signal === undefined) return promise
  signal.throwIfAborted()
  let leave = () => {}
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener("abort", leave, { once: true })
  })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", leave))
}
