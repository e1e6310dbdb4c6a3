/** The person who is logged in with a browser. */
import { Effect } from "effect"
import { WeirConfig } from "../config.ts"
import { type LoggedIn, Logins } from "../identity/logins.ts"
import { sessionOf } from "./browser-cookies.ts"
import { originOf, type Request } from "./request.ts"
import type { RouteError } from "./respond.ts"

/** @returns reads the person of a request; undefined if none is logged in */
export const makeVisitor = Effect.gen(function* () {
  const config = yield* WeirConfig
  const logins = yield* Logins
  return (request: Request): Effect.Effect<LoggedIn | undefined, RouteError> => {
    const token = sessionOf(request, originOf(config, request))
    if (token === undefined) return Effect.undefined
    return Effect.catchTag(
      logins.authenticate(token, "browser"),
      "ServiceError",
      (): Effect.Effect<LoggedIn | undefined> => Effect.undefined,
    )
  }
})
