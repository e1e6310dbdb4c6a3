/** The person that uses the browser. The document runs this module first, so that the answer comes while others load. */
import type { BrowserSession } from "../protocol/control/activity.ts"
import { get } from "./api.ts"

const ask = (signal?: AbortSignal) => get<BrowserSession>("v1/session", undefined, signal)

let first: Promise<BrowserSession> | undefined = ask()
first.catch(() => undefined)

/** The first answer once, then a new one each time. */
export const readSession = (signal: AbortSignal): Promise<BrowserSession> => {
  const answer = first ?? ask(signal)
  first = undefined
  return answer
}
