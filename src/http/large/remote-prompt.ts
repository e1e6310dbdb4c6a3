/** A prompt that is with a worker. */
import { Effect, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { EncodedPrompt, Prompt, PromptParams } from "../../kinds/chat/prompt.ts"
import type { PromptParts } from "../../kinds/chat/prompt-tokens.ts"
import type { Parts, TextReader } from "../../policies/parts.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { FromWorker, PromptFacts, TextOf } from "./protocol.ts"

/** Asks the worker that has the prompt. Never fails: a worker that is gone answers `failed`. */
export interface PromptWorker {
  readonly encode: (vendor: Vendor, params: PromptParams) => Effect.Effect<FromWorker>
  /** @param parts of the text that is reviewed */
  readonly text: (of: TextOf, parts?: Parts) => Effect.Effect<FromWorker>
}

export class RemotePrompt implements Prompt {
  readonly kinds: PromptFacts["kinds"]
  readonly hasTools: boolean
  readonly tokens: number
  readonly hasRemoteMedia: boolean
  readonly canUnseal: boolean
  readonly #worker: PromptWorker
  readonly #vendorOf: (id: string) => Vendor | undefined
  /** The body that the worker made for the target that is asked next. */
  #encoded: EncodedPrompt | undefined

  constructor(facts: PromptFacts, worker: PromptWorker, vendorOf: (id: string) => Vendor | undefined) {
    this.kinds = facts.kinds
    this.hasTools = facts.hasTools
    this.tokens = facts.tokens
    this.hasRemoteMedia = facts.hasRemoteMedia
    this.canUnseal = facts.canUnseal
    this.#worker = worker
    this.#vendorOf = vendorOf
  }

  reviewed(parts: Parts, reader: TextReader = "rules"): Effect.Effect<string> {
    return Effect.flatMap(this.#worker.text(reader === "rules" ? "reviewed" : "reviewedOnce", parts), (reply) =>
      // A text that cannot be reviewed must not pass.
      reply.kind === "text" ? Effect.succeed(reply.text) : Effect.die(new Error("A large request cannot be reviewed")),
    )
  }

  get parts(): Effect.Effect<PromptParts> {
    return Effect.map(this.#worker.text("parts"), (reply) =>
      reply.kind === "text" ? reply : { text: "", tokens: this.tokens },
    )
  }

  get sameness(): Effect.Effect<object | undefined> {
    return this.#hashOf("sameness")
  }

  get ownSameness(): Effect.Effect<object | undefined> {
    return this.#hashOf("ownSameness")
  }

  #hashOf(of: "sameness" | "ownSameness"): Effect.Effect<object | undefined> {
    return Effect.map(this.#worker.text(of), (reply) =>
      reply.kind === "text" && reply.text !== "" ? { hash: reply.text } : undefined,
    )
  }

  prepare({ vendor: { id } }: CallTarget, params: PromptParams): Effect.Effect<void, ServiceError<"internal_error">> {
    const vendor = this.#vendorOf(id)
    if (vendor === undefined) return Effect.fail(requestLost())
    return Effect.flatMap(this.#worker.encode(vendor, params), (reply) => {
      const encoded = encodedOf(reply)
      if (encoded === undefined) return Effect.fail(requestLost())
      this.#encoded = encoded
      return Effect.void
    })
  }

  /** The body that was made for a target is released with its call. */
  encode(): EncodedPrompt {
    const encoded = this.#encoded
    if (encoded === undefined) throw new Error("A large request was not prepared for its target")
    this.#encoded = undefined
    return encoded
  }
}

/** Undefined if the worker is gone. */
const encodedOf = (reply: FromWorker): EncodedPrompt | undefined => {
  if (reply.kind === "encoded") {
    const { path, headers, body, omittedTools, omitted, clamped, carried, functionsOfTexts, written } = reply
    const wire = Result.succeed({ path, headers, body })
    return {
      wire,
      omittedTools,
      omitted,
      clamped,
      carried,
      functionsOfTexts,
      ...(written && { written: () => written }),
    }
  }
  if (reply.kind !== "unfit") return undefined
  const { capability, message, issue, omittedTools, omitted } = reply
  return { wire: Result.fail({ capability, message, ...(issue && { issue }) }), omittedTools, omitted }
}

/** The error of a request whose worker thread has died; it may be sent again. */
export const requestLost = () =>
  serviceError("internal_error", "The gateway has lost this large request; it can be sent again", {
    detail: { retryable: true },
    retryAfterMs: 1000,
  })
