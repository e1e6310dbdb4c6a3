/** Changes of tenants in requests, and tenants in replies. */
import { Effect, Schema } from "effect"
import { BatchItem, type TenantKind } from "../protocol/control/tenants.ts"
import { strictly } from "../protocol/json/find-issues.ts"
import { invalidInput, refusedIn } from "../protocol/json/issues.ts"
import { hasUnseen, isStorable } from "../protocol/values/text.ts"
import type { StoredTenant } from "../tenants/tenant-changes.ts"
import { maxBodyBytes } from "./operator.ts"
import { ifMatchOf, type Request, readJson } from "./request.ts"

/** Also of an organisation, whose name the catalogue does not limit. */
const longestName = 256

/** Whether a name may be set: people can see all of it. */
export const isSettableName = (name: string): boolean =>
  isStorable(name) && !hasUnseen(name) && name.trim() !== "" && name.length <= longestName

export const invalidName = invalidInput([
  {
    path: "name",
    message: `must have visible characters, at most ${longestName}, and no control or invisible characters`,
  },
])

const decode = Schema.decodeUnknownEffect(BatchItem, strictly)

/** An item of a batch; paths of issues are those of the tenant. */
export const decodeItem = (item: unknown) =>
  decode(item).pipe(
    Effect.mapError(() =>
      invalidInput(
        refusedIn(BatchItem, item).map(({ path, message }) => ({ path: path.replace(/^value\.?/u, ""), message })),
      ),
    ),
    // Names are checked when they are set, and not when they are read: stored names stay.
    Effect.filterOrFail(
      (change) => {
        const name = "value" in change && "name" in change.value ? change.value.name : undefined
        return name === undefined || name === null || isSettableName(name)
      },
      () => invalidName,
    ),
  )

/**
 * The change that a request asks for: its body, `If-Match`, and the parameters of its route.
 * @param org the organisation of the caller, who chooses neither it nor ids
 */
export const readChange = Effect.fnUntraced(function* (
  request: Request,
  op: "create" | "update",
  kind: TenantKind,
  id?: string,
  org?: string,
) {
  const target = id === undefined ? {} : yield* targetOf(request, id)
  const body = yield* readJson(Schema.JsonObject, request, maxBodyBytes)
  const chosen = org === undefined ? undefined : ["id", "org"].find((name) => name in body)
  if (chosen !== undefined) return yield* invalidInput([{ path: chosen, message: "is not accepted here" }])
  const value = org === undefined ? body : { ...body, org }
  return yield* decodeItem({ op, kind, ...target, value })
})

/** The tenant of a request, and the revision on which the change is based. */
export const targetOf = (request: Request, id: string) =>
  Effect.map(ifMatchOf(request), (revision) => ({ id, ...(revision !== undefined && { revision: String(revision) }) }))

/** A tenant as a reply shows it. */
export const recordOf = ({ document, declared, status, invited, revision, createdAt, changedAt }: StoredTenant) => ({
  ...document,
  declared,
  status,
  ...(invited !== undefined && { invited }),
  revision,
  createdAt: new Date(createdAt).toISOString(),
  changedAt: new Date(changedAt).toISOString(),
})
