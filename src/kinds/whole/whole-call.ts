/** The parts that the plans of whole calls share. */
import { Result } from "effect"
import type { Asked, CallRequest } from "../../calls/kind.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { makersName } from "../../dialects/vendor/family.ts"
import type { WholeDialect } from "../../dialects/whole-dialect.ts"
import type { EncodeRefusal, WireRequest } from "../../dialects/wire.ts"
import type { MediaBody } from "../../media/media-file.ts"
import { protocolLabel, type WarnEvent } from "../../protocol/event.ts"
import type { CallKind } from "../../protocol/kinds/call-kind.ts"

/** The catalogue refuses targets that cannot do what their model is for; a call of one is refused. */
export const encodeWhole = <Asked, Body extends string | MediaBody>(
  target: CallTarget,
  dialect: Pick<WholeDialect<Asked, unknown, Body>, "encode"> | undefined,
  kind: CallKind,
  asked: Asked,
): Result.Result<WireRequest<Body>, EncodeRefusal> =>
  dialect === undefined
    ? Result.fail({ capability: kind, message: `this vendor has no ${kind}` })
    : dialect.encode(asked, target.model, makersName(target))

/** The beginning of a reply. */
export const replyHead = <Request extends CallRequest & { readonly model: string }>({
  requestId,
  request: { meta, model },
}: Pick<Asked<Request, never>, "requestId" | "request">) => ({
  requestId,
  ...(meta?.requestId !== undefined && { clientRequestId: meta.requestId }),
  model,
})

/** The first event of a stream, and the warnings so far. */
export const openingOf = <Request extends CallRequest & { readonly model: string }, Body extends object>(
  { requestId, request: { model, meta }, reply: { events } }: Asked<Request, Body>,
  warnings: ReadonlyArray<WarnEvent>,
): string => {
  const open = events.open({
    requestId,
    ...(meta?.requestId !== undefined && { clientRequestId: meta.requestId }),
    model,
    protocol: protocolLabel,
    ...(meta?.sessionId !== undefined && { sessionId: meta.sessionId }),
  })
  return open + warnings.map((warning) => events.warn(warning)).join("")
}
