/** The place in the caller's code where a method was called, for the stacks of errors that come later. */
import { isWeirError } from "./errors.ts"

/** Frames begin here in V8's stacks; other engines write no line before them. */
const firstFrame = "\n    at "

interface CallSite {
  readonly stack?: string
}

const callSite = (method: (...args: never) => unknown): CallSite => {
  if (typeof Error.captureStackTrace !== "function") return new Error()
  const site = {}
  Error.captureStackTrace(site, method)
  return site
}

/** Gives an error of the client the stack of the call that failed; other errors stay as they are. */
const placed = (error: unknown, { stack = "" }: CallSite): unknown => {
  if (!isWeirError(error)) return error
  const frames = stack.slice(Math.max(0, stack.indexOf(firstFrame)))
  error.stack = `${error.name}: ${error.message}${frames.startsWith("\n") ? "" : "\n"}${frames}`
  return error
}

/** A method whose errors have the stack of its caller. */
export const placing = <Args extends ReadonlyArray<unknown>, A>(
  run: (...args: Args) => Promise<A>,
): ((...args: Args) => Promise<A>) => {
  const method = (...args: Args): Promise<A> => {
    const site = callSite(method)
    return run(...args).catch((error: unknown) => {
      throw placed(error, site)
    })
  }
  return method
}

/** The same for a method that returns items; they can be iterated once. */
export const placingItems = <Args extends ReadonlyArray<unknown>, A>(
  run: (...args: Args) => AsyncIterable<A>,
  consumed: () => Error,
): ((...args: Args) => AsyncIterable<A>) => {
  const method = (...args: Args): AsyncIterable<A> => {
    const site = callSite(method)
    let isTaken = false
    return {
      [Symbol.asyncIterator]: () => {
        if (isTaken) throw consumed()
        isTaken = true
        return placedItems(run(...args), site)
      },
    }
  }
  return method
}

async function* placedItems<A>(items: AsyncIterable<A>, site: CallSite): AsyncGenerator<A, void, undefined> {
  try {
    yield* items
  } catch (error) {
    throw placed(error, site)
  }
}
