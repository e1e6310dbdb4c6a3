/** Admin routes of exports. */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { WeirConfig } from "../../config.ts"
import { Exports } from "../../exports/exports.ts"
import { Api } from "../../protocol/api.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { dayMs, parseInstant } from "../../protocol/values/instant.ts"
import { makeForOperator } from "../operator.ts"

export const adminExportRoutes = HttpApiBuilder.group(
  Api,
  "adminExports",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const exports = yield* Exports
    const { retentionDays } = yield* WeirConfig

    const run = Effect.fnUntraced(function* (id: string, from: string, to: string) {
      const nowMs = yield* Clock.currentTimeMillis
      const [fromMs, toMs] = [parseInstant(from), parseInstant(to)]
      const wrong = (path: string, message: string) => Effect.fail(invalidInput([{ path, message }]))
      if (fromMs === undefined) return yield* wrong("from", "must be a date or an instant")
      if (toMs === undefined || toMs > nowMs)
        return yield* wrong("to", "must be a date or an instant, not in the future")
      if (toMs <= fromMs) return yield* wrong("to", "must be after from")
      // Files of a period whose records were deleted would be written without them.
      const keptMs = nowMs - (retentionDays - 1) * dayMs
      if (fromMs < keptMs) {
        return yield* wrong(
          "from",
          `records are kept for ${retentionDays} days: must not be before ${new Date(keptMs).toISOString()}`,
        )
      }
      const filled = yield* exports.fill(id, { from: new Date(fromMs), until: new Date(toMs) })
      return filled ?? (yield* serviceError("not_found", "The export does not exist"))
    })

    return handlers
      .handleRaw("adminExports", ({ request }) =>
        forOperator(
          request,
          Effect.map(exports.list, (found) => ({ exports: found })),
        ),
      )
      .handleRaw("adminRunExport", ({ request, params: { id }, query: { from, to } }) =>
        forOperator(request, run(id, from, to)),
      )
  }),
)
