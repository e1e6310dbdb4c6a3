/** What the plans of whole calls share. */
import { Result } from "effect"
import type { Asked, CallRequest } from "../../calls/kind.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { WholeDialect } from "../../dialects/whole.ts"
import type { EncodeRefusal, WireRequest } from "../../dialects/wire.ts"
import type { CallKind } from "../../protocol/call-kind.ts"

/** The catalogue refuses targets that cannot do what their model is for; a call of one is refused. */
export const encodeWhole = <Asked>(
  { model }: CallTarget,
  dialect: Pick<WholeDialect<Asked, unknown>, "encode"> | undefined,
  kind: CallKind,
  asked: Asked,
): Result.Result<WireRequest, EncodeRefusal> =>
  dialect === undefined
    ? Result.fail({ capability: kind, message: `this vendor has no ${kind}` })
    : dialect.encode(asked, model)

/** The beginning of a reply. */
export const replyHead = <Request extends CallRequest & { readonly model: string }>({
  requestId,
  request: { meta, model },
}: Pick<Asked<Request, never>, "requestId" | "request">) => ({
  requestId,
  ...(meta?.requestId !== undefined && { clientRequestId: meta.requestId }),
  model,
})
