/** Messages between the gateway and a worker that reads and writes large requests. Bodies are transferred, not copied. */
import { Predicate } from "effect"
import type { Problem } from "../../batches/batch.ts"
import type { ClientContext, RequestPlace } from "../../dialects/client/client-api.ts"
import type { WrittenFields } from "../../dialects/client/client-field.ts"
import type { EncodeRefusal } from "../../dialects/wire.ts"
import type { ChatRequest } from "../../kinds/chat/chat-request.ts"
import type { EncodedPrompt, PromptParams } from "../../kinds/chat/prompt.ts"
import type { MaskableText, SentMasked, SentMasking } from "../../policies/masks/mask-request.ts"
import type { Parts } from "../../policies/parts.ts"
import type { Block } from "../../protocol/block.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import type { ErrorDetail } from "../../protocol/error.ts"
import type { JoinedConversation } from "../compatible/request.ts"

/** The request of a compatible route: its API, path and headers. */
export interface SentIn {
  readonly api: string
  readonly place: RequestPlace
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly aliases: Readonly<Record<string, string>> | undefined
  /** The first item of its input that is returned; none is if absent. */
  readonly inputFrom?: number | undefined
  /** The conversation whose items it has. */
  readonly joined?: JoinedConversation | undefined
}

/** `id` is the request's, from `read` to `end`. */
export type ToWorker =
  | {
      readonly op: "read"
      readonly id: number
      readonly parts: ReadonlyArray<Uint8Array>
      readonly sentIn: SentIn | undefined
      /** The first message of the thread of an exchange that is returned as text; none is if absent. */
      readonly threadFrom?: number | undefined
      /** The masks for it; absent if there are none. */
      readonly masking?: SentMasking | undefined
    }
  | { readonly op: "encode"; readonly id: number; readonly vendor: Vendor; readonly params: PromptParams }
  | { readonly op: "text"; readonly id: number; readonly of: TextOf; readonly parts?: Parts | undefined }
  /** The texts of a request that engines read, with the marks of its masks. */
  | {
      readonly op: "texts"
      readonly parts: ReadonlyArray<Uint8Array>
      readonly masking: SentMasking | undefined
    }
  /** A line of a file of requests, to an endpoint of OpenAI's API. */
  | {
      readonly op: "line"
      readonly parts: ReadonlyArray<Uint8Array>
      readonly endpoint: string
      readonly mostBytes: number
    }
  | { readonly op: "end"; readonly id: number }

/**
 * `reviewedOnce` is the text for engines. `sameness` and `ownSameness` are hashes of the fields that can change the answer; empty if content behind them may change
 * later.
 */
export type TextOf = "reviewed" | "reviewedOnce" | "parts" | "sameness" | "ownSameness"

export type Ask = Exclude<ToWorker, { readonly op: "end" }>

/** The facts about its prompt that an exchange needs. */
export interface PromptFacts {
  readonly kinds: ReadonlySet<Block["t"]>
  readonly hasTools: boolean
  readonly tokens: number
  readonly hasRemoteMedia: boolean
  readonly canUnseal: boolean
}

export interface ReadReply {
  readonly kind: "read"
  /** The facts about a request of a compatible route. */
  readonly sent?: ClientContext | undefined
  readonly outcome:
    | {
        readonly request: Omit<ChatRequest, "prompt">
        readonly payloadHash: string | undefined
        /** The values behind the marks of the request, by mark. */
        readonly masked?: SentMasked | undefined
        readonly facts: PromptFacts
        /** The items of its input that {@link SentIn} asks for. */
        readonly input?: ReadonlyArray<string> | undefined
      }
    | { readonly refused: string; readonly detail: ErrorDetail | undefined }
}

export type FromWorker =
  | ReadReply
  | {
      readonly kind: "encoded"
      readonly path: string
      readonly headers: Readonly<Record<string, string>>
      readonly body: Uint8Array
      readonly omittedTools: ReadonlyArray<string> | undefined
      readonly functionsOfTexts: EncodedPrompt["functionsOfTexts"]
      readonly omitted: ReadonlyArray<string> | undefined
      readonly clamped: ReadonlyArray<string> | undefined
      readonly carried: EncodedPrompt["carried"]
      readonly written: WrittenFields | undefined
    }
  | {
      readonly kind: "unfit"
      readonly capability: string
      readonly message: string
      readonly issue?: EncodeRefusal["issue"]
      readonly omittedTools: ReadonlyArray<string> | undefined
      readonly omitted: ReadonlyArray<string> | undefined
    }
  | { readonly kind: "text"; readonly text: string; readonly tokens: number }
  /** Its body is on one line. */
  | { readonly kind: "line"; readonly id: string; readonly path: string; readonly body: Uint8Array }
  | { readonly kind: "fault"; readonly fault: LineFault }
  | { readonly kind: "texts"; readonly texts: ReadonlyArray<MaskableText> }
  | { readonly kind: "failed"; readonly message: string }

/** The fault of a line. */
export type LineFault = Omit<Problem, "line">

/** An answer, with the number of its question. */
export interface Answer {
  readonly ask: number
  readonly reply: FromWorker
}

export interface Question {
  readonly ask: number
  readonly message: ToWorker
}

const kinds: ReadonlySet<unknown> = new Set(["read", "encoded", "unfit", "text", "texts", "line", "fault", "failed"])

/** Both sides are of one program: only the outermost form is checked. */
export const isAnswer = (message: unknown): message is Answer =>
  Predicate.hasProperty(message, "reply") &&
  Predicate.hasProperty(message.reply, "kind") &&
  kinds.has(message.reply.kind)

export const isQuestion = (message: unknown): message is Question =>
  Predicate.hasProperty(message, "ask") && Predicate.hasProperty(message, "message")
