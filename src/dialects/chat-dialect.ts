/**
 * The interface of a vendor dialect: pure translation between twp/1 and one vendor's API, without effects and services.
 *
 * `encode` builds the request; a `Decoder` turns the bytes of a streamed reply into {@link VendorEvent}s, one call per
 * socket read; `decodeBody` turns a whole JSON reply into the same events.
 */
import type { Result } from "effect"
import type { Message, SealingDialect } from "../protocol/block.ts"
import type { Delta } from "../protocol/event.ts"
import type {
  Effort,
  ReasoningDisplay,
  ReasoningLevel,
  Stop,
  StructuredOutput,
  ToolChoice,
} from "../protocol/exchange.ts"
import type { ExtraParams } from "../protocol/extra-params.ts"
import type { HostedUses } from "../protocol/hosted-unit.ts"
import type { FunctionTool, TextTool, VendorTool } from "../protocol/tool.ts"
import type { ClientApiName, SentBody } from "./carry/carried-request.ts"
import type { VendorFrame } from "./carry/vendor-frame.ts"
import { isMalformedCount, type JsonObject, reportedCountAt } from "./parse/json.ts"
import { malformedReply, type VendorFault } from "./vendor/faults.ts"
import type { EncodeRefusal, VendorAccess, WireRequest } from "./wire.ts"

/** A tool, with the text of its schema where writing the schema would give another. */
export interface OfferedTool extends FunctionTool {
  readonly schemaJson?: string
}

/** A structured output, with the same. */
export interface AskedOutput extends StructuredOutput {
  readonly schemaJson?: string
}

/** An admitted exchange: authorised, clamped, for one target. */
export interface VendorRequest {
  /** The vendor's own name of the model. */
  readonly model: string
  /** The model as its maker names it, if that is another name. */
  readonly family?: string | undefined
  readonly thread: ReadonlyArray<Message>
  /** Functions. */
  readonly tools: ReadonlyArray<OfferedTool>
  /** Only for a dialect that takes them. */
  readonly textTools?: ReadonlyArray<TextTool> | undefined
  /** Tools in the vendor's own format. */
  readonly ownTools?: ReadonlyArray<VendorTool> | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly maxTokens: number
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly stop: ReadonlyArray<string>
  readonly canReason: boolean
  /** Absent if the model cannot reason or the caller did not say. */
  readonly reasoning?: ReasoningLevel | undefined
  /** In tokens; only with a level, which dialects without budgets use instead. */
  readonly reasoningBudget?: number | undefined
  readonly effort?: Effort | undefined
  readonly reasoningDisplay?: ReasoningDisplay | undefined
  readonly parallelToolCalls?: boolean | undefined
  readonly output?: AskedOutput | undefined
  /** Whether the answer is any JSON object. */
  readonly anyJson?: true | undefined
  /** Optional parameters, which not every vendor has; see `extras.ts`. */
  readonly extras?: ExtraParams | undefined
  /** The most web searches that the vendor may make by itself; absent if it may make none. */
  readonly searches?: number | undefined
  /** Uses of the tools that the vendor runs, in a request of its own API; absent if it may have none that cost more than tokens. */
  readonly hosted?: HostedUses | undefined
  /** Whether the model has a prefix cache; `skipWrite` omits the breakpoint at the end of the thread. */
  readonly cache: { readonly enabled: boolean; readonly skipWrite: boolean; readonly key?: string | undefined }
  readonly stream: boolean
  /** The names under which the client's own users are sent, by their ids: empty if none is, absent if the id itself is. */
  readonly endUsers?: Readonly<Record<string, string>> | undefined
}

/** Counts as a vendor reported them; `inTokens` excludes cache reads and writes. */
export interface VendorUsage {
  readonly inTokens: number
  readonly outTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** Non-zero buckets. Known buckets refine a total; `obs_*` are only observed. */
  readonly dims: Readonly<Record<string, number>>
  /** Sides whose counts are absent or malformed; they are 0 here. */
  readonly missing?: ReadonlyArray<UsageSide>
}

export type UsageSide = "input" | "output"

export type VendorEvent =
  /** Content for the client; `json` is the text as the vendor encoded it in JSON, if known. */
  | { readonly kind: "delta"; readonly delta: Delta; readonly json?: string }
  /** All usage known so far; the last report wins. */
  | { readonly kind: "usage"; readonly usage: VendorUsage; readonly final: boolean }
  /**
   * The reason why a reply ended.
   * @param sequence the stop sequence that matched
   * @param reply the number of the reply, if there are several; the first if absent
   */
  | { readonly kind: "stop"; readonly stop: Stop; readonly sequence?: string | undefined; readonly reply?: number }
  /** The service tier at which the vendor answers, by twp/1's name. */
  | { readonly kind: "tier"; readonly tier: string }
  /** The region in which the vendor says that it answers. */
  | { readonly kind: "region"; readonly region: string }
  /** The vendor's terminal event: the reply is complete. */
  | { readonly kind: "done" }
  | { readonly kind: "fault"; readonly fault: VendorFault }
  /** A frame as it arrived, for a client of the same API; its meaning comes as events too. */
  | { readonly kind: "frame"; readonly frame: VendorFrame }

export interface Decoder {
  /** Decodes one socket read; frames may be split at any byte. Never throws. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<VendorEvent>
  /** The connection ended; decodes a last line without a line break. A stop makes a reply complete without `done`. */
  readonly end: () => ReadonlyArray<VendorEvent>
}

/** The way in which a dialect forwards requests of its own API. */
export interface Carry {
  readonly api: ClientApiName
  /**
   * Undefined if the request must be translated for this vendor.
   * @param request the same request in twp/1
   */
  readonly encode: (
    request: VendorRequest,
    sent: SentBody,
  ) => Result.Result<WireRequest<string | Uint8Array>, EncodeRefusal> | undefined
}

/** Fields that a target supports and others lack. */
export interface HasWords {
  /** `detail` of a picture. */
  readonly detail: boolean
  /** `effort` where no reasoning is asked for, or beside it. */
  readonly effort: boolean
  /** `reasoningDisplay`. */
  readonly display: boolean
  /** The positions where `cacheable` can mark the end of a prefix; none if absent. */
  readonly marks?: "everywhere" | "blocks" | "texts"
}

/** Chat in a vendor's API. */
export interface ChatDialect extends VendorAccess {
  readonly encode: (request: VendorRequest) => Result.Result<WireRequest, EncodeRefusal>
  /** The request with the parameters that its model takes; absent if all models of the vendor take the same. */
  readonly fit?: (request: VendorRequest) => Result.Result<VendorRequest, EncodeRefusal>
  /** The way to forward requests of its own API; absent if it takes none. */
  readonly carry?: Carry
  /** The dialect whose blocks it takes back; absent if it takes none. */
  readonly seals?: SealingDialect
  /** Whether it has tools that take a text, and calls of them. */
  readonly takesTexts?: boolean
  readonly hasWords: (request: VendorRequest) => HasWords
  /** Whether the vendor can search the web for this request; otherwise it is encoded without `searches`. */
  readonly canSearch: (request: VendorRequest) => boolean
  /** @param carries whether frames are emitted too */
  readonly decoder: (carries?: boolean) => Decoder
  readonly decodeBody: (body: string) => ReadonlyArray<VendorEvent>
}

/** The name of an output that its caller did not name. */
export const outputName = "output"

export const lacksOutput: EncodeRefusal = {
  capability: "output",
  message: "this model does not answer by a JSON Schema",
}

/** A reply that is not in the dialect's format: not JSON, the wrong shape, or a frame over the limit. */
export const malformed: VendorEvent = { kind: "fault", fault: malformedReply }

/** Removes empty buckets. */
export const nonZero = (dims: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(dims).filter(([, count]) => count > 0))

/** The fields of a vendor's report that make up one side of its usage. */
interface SideFields {
  /** At least one of these is reported. */
  readonly anyOf: ReadonlyArray<string>
  /** Counts that may be absent, but not malformed. */
  readonly added?: ReadonlyArray<string>
}

/** The sides that a report does not state. */
export const missingSides = (
  report: JsonObject,
  sides: Readonly<Record<UsageSide, SideFields>>,
): Pick<VendorUsage, "missing"> => {
  const missing = (["input", "output"] as const).filter((side) => {
    const { anyOf, added = [] } = sides[side]
    return (
      anyOf.every((field) => reportedCountAt(report, field) === undefined) ||
      [...anyOf, ...added].some((field) => isMalformedCount(report, field))
    )
  })
  return missing.length === 0 ? {} : { missing }
}

/** Splits an input total that includes cache reads and writes. The parts never exceed the total. */
export const splitInput = (
  total: number,
  read: number,
  write: number,
): Pick<VendorUsage, "inTokens" | "cacheReadTokens" | "cacheWriteTokens"> => {
  const cacheReadTokens = Math.min(read, total)
  const cacheWriteTokens = Math.min(write, total - cacheReadTokens)
  return { inTokens: total - cacheReadTokens - cacheWriteTokens, cacheReadTokens, cacheWriteTokens }
}
