/** How the arguments of a method are made. */
import { setTimeout as sleep } from "node:timers/promises"

/** Makes the arguments of a method, and before that the objects that it needs, by the method's place and name. */
export type Uses = Readonly<Record<string, () => Promise<ReadonlyArray<unknown>>>>

/** Waits for an object that is made in the background. */
export const untilDone = async <A>(read: () => Promise<A>, isDone: (value: A) => boolean): Promise<A> => {
  for (let tries = 0; ; tries++) {
    const value = await read()
    if (isDone(value)) return value
    if (tries === 400) throw new Error("The object was not done in time")
    await sleep(50)
  }
}
