/** A pause that a signal ends. */

/** Resolves after a time; rejects with the signal's reason. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const over = () => {
      signal?.removeEventListener("abort", aborted)
      resolve()
    }
    const timer = setTimeout(over, ms)
    const aborted = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted === true) return aborted()
    signal?.addEventListener("abort", aborted, { once: true })
  })
