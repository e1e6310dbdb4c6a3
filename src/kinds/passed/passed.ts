/** Calls of routes that have no dialect: the kind `pass`. */
import { Effect, Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelNotAuthorised, withOwnKeys } from "../../calls/model.ts"
import type { IdOwners } from "../../pass-through/id-owners.ts"
import { textOfQuery } from "../../pass-through/query-text.ts"
import { textsOfJson } from "../../policies/json-texts.ts"
import type { TextOfParts } from "../../policies/parts.ts"
import { serviceError } from "../../protocol/error.ts"
import { allowsModel } from "../../tenants/subject-limits.ts"
import { PassedIds } from "./passed-ids.ts"
import type { PassedReply, PassedRequest } from "./passed-request.ts"
import { PassedTask } from "./passed-task.ts"

export const makePassed = (owners: IdOwners["Service"]): Kind<PassedRequest, PassedReply> => ({
  name: "pass",
  purpose: "pass",
  modelOf: () => undefined,
  reviewed: textOf,
  plan: (asked) => {
    const { request, caller } = asked
    const { route } = request
    if (!allowsModel(caller, { handle: route.handle })) return Result.fail(modelNotAuthorised)
    if (route.prices !== undefined && route.prices.currency !== caller.org.currency) return Result.fail(unpriced)
    const targets = withOwnKeys([route.target], caller.org.id, caller.upstreamKeys)
    return Result.succeed(new PassedTask(asked, targets, new PassedIds(owners, caller, request)))
  },
})

const unpriced = serviceError("pricing_guard_tripped", "This route has no price in the organisation's currency")

const textOf =
  ({ path, json, body }: PassedRequest): TextOfParts =>
  (parts) =>
    Effect.sync(() => {
      const query = parts.has("text") ? textOfQuery(path.includes("?") ? path.slice(path.indexOf("?") + 1) : "") : []
      if (json !== undefined) return [...query, ...textsOfJson(json, parts)].join("\n")
      return parts.has("text") ? [...query, Buffer.from(body).toString("utf8")].join("\n") : ""
    })
