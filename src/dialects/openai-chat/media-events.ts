/** Streams of pictures, sound and transcripts in the format of OpenAI's API. */
import type { ErrorBody } from "../../protocol/error.ts"
import { errorStatus } from "../../protocol/error.ts"
import type { CloseEvent, Delta, ImageDelta } from "../../protocol/event.ts"
import type { Segment } from "../../protocol/kinds/transcription.ts"
import { ClientEvents, type EventEncoder } from "../client/client-api.ts"
import { chatError } from "./client-reply.ts"
import { imageUsage, transcriptUsage } from "./media-usage.ts"

abstract class OpenaiEvents extends ClientEvents {
  open(): string {
    return ""
  }

  delta(_delta: Delta): string {
    return ""
  }

  error(error: ErrorBody): string {
    return this.event("error", chatError(error, errorStatus[error.code]))
  }

  protected event(type: string, data: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  }
}

export class ImageEvents extends OpenaiEvents implements EventEncoder {
  readonly #kind: "generation" | "edit"
  readonly #createdS: number
  readonly #whole: Array<typeof ImageDelta.Type> = []
  #partials = 0

  constructor(kind: "generation" | "edit", createdS: number) {
    super()
    this.#kind = kind
    this.#createdS = createdS
  }

  picture(image: typeof ImageDelta.Type): string {
    if (!image.partial) {
      this.#whole.push(image)
      return ""
    }
    const data = { ...this.#image(image), partial_image_index: this.#partials++ }
    return this.event(`image_${this.#kind}.partial_image`, data)
  }

  close({ usage }: typeof CloseEvent.Type): string {
    return this.#whole
      .map((image) => this.event(`image_${this.#kind}.completed`, { ...this.#image(image), usage: imageUsage(usage) }))
      .join("")
  }

  #image({ data, mime, made }: typeof ImageDelta.Type) {
    return { b64_json: data, created_at: this.#createdS, output_format: mime.replace("image/", ""), ...made }
  }
}

export class SpeechEvents extends OpenaiEvents implements EventEncoder {
  sound(bytes: Uint8Array): string {
    const audio = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")
    return this.event("speech.audio.delta", { audio })
  }

  close({ usage: { inTokens, outTokens } }: typeof CloseEvent.Type): string {
    const usage = { input_tokens: inTokens, output_tokens: outTokens, total_tokens: inTokens + outTokens }
    return this.event("speech.audio.done", { usage })
  }
}

/** The text of one speaker. */
export const spokenSegment = ({ text, start, end, speaker = "" }: Segment, id: number): object => ({
  type: "transcript.text.segment",
  id: `seg_${id}`,
  start,
  end,
  text,
  speaker,
})

export class TranscriptEvents extends OpenaiEvents implements EventEncoder {
  #text = ""
  #segments = 0

  segment(segment: Segment): string {
    return this.event("transcript.text.segment", spokenSegment(segment, this.#segments++))
  }

  override delta(delta: Delta): string {
    if (delta.t !== "text") return ""
    this.#text += delta.v
    return this.event("transcript.text.delta", { delta: delta.v })
  }

  close({ usage }: typeof CloseEvent.Type): string {
    return this.event("transcript.text.done", { text: this.#text, usage: transcriptUsage(usage) })
  }
}
