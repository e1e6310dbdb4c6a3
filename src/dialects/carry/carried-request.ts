/** A request that goes unchanged to a vendor of the same API, and the facts about it that the gateway needs. */
import type { ExchangeParams } from "../../protocol/exchange.ts"
import type { JsonEdit, JsonPath } from "../../protocol/json/json-edit.ts"
import type { FieldRefusal } from "../client/fields.ts"
import type { SaidByPath } from "../client/said-by-path.ts"
import type { JsonObject } from "../parse/json.ts"
import type { HostedTool } from "../vendor/hosted-tools.ts"

/** Dialects that are a client's API too. */
export const clientApiNames = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const
export type ClientApiName = (typeof clientApiNames)[number]

/** A request as a vendor of the same API gets it: unchanged, except for the parts that are listed here. */
export interface OwnRequest {
  /** The first field that only this API supports. */
  readonly lack?: FieldRefusal | undefined
  /** Fields that the gateway does not know. */
  readonly newFields: ReadonlyArray<string>
  /** The bytes of their values, and of other fields that twp/1 does not support. */
  readonly newBytes: number
  /** The positions of parts that belong to another vendor and are removed. */
  readonly foreign: ReadonlyArray<JsonPath>
  /** Its tools that a vendor runs. */
  readonly hosted: ReadonlyArray<HostedTool>
  /** The most uses of them all that its client allows. */
  readonly maxHostedUses?: number
  /** Whether its vendor may summarise the thread beside the answer, and bills that too. */
  readonly compacts?: boolean
  /** Fields that its body lacks. */
  readonly said?: SaidByPath | undefined
  /** The number of its tools. */
  readonly tools: number
  /** Ids of the client's own user, with their places. */
  readonly endUsers: ReadonlyArray<{ readonly path: JsonPath; readonly id: string }>
  /** Messages of the role `system` in a thread of Anthropic's. */
  readonly instructions?: SentInstructions | undefined
  /** Other positions that a dialect edits, by a name of its API's. */
  readonly places?: Readonly<Record<string, ReadonlyArray<JsonPath>>>
}

/** A client's request as it was sent. */
export interface SentBody {
  /** Its bytes with edits. */
  readonly edited: (edits: ReadonlyArray<JsonEdit>) => Uint8Array
  /** Its members, except for the prompt. */
  readonly head: JsonObject
  /** Its parameters in twp/1. */
  readonly asked: ExchangeParams
  readonly own: OwnRequest
  /** Features of the API that its headers ask for. */
  readonly betas: ReadonlyArray<string>
}

/** The positions of instructions in a thread of Anthropic's: only those after a user and before the model may stay. */
export type InstructionPlace = "first" | "after a user" | "at the end" | "elsewhere"

/** The instructions in a thread of a client's own request. */
export interface SentInstructions {
  /** The content of the top-level `system`. */
  readonly system: ReadonlyArray<unknown>
  readonly messages: ReadonlyArray<{
    readonly path: JsonPath
    readonly place: InstructionPlace
    readonly content: ReadonlyArray<unknown>
  }>
}
