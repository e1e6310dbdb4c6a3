/**
 * The vendor's messages of a session with Google's Live API, by their meaning for money. Pure.
 *
 * **Details**: messages have no ids of responses. A response begins with the first content that comes, and ends with
 * `turnComplete`; the vendor reports its usage in one of its messages, usually the last. If another prompt is reported before the
 * turn ends, as after a call of a tool, the model has begun again: the vendor bills both, so each of them is a response.
 *
 * @see https://ai.google.dev/api/live#bidigeneratecontentservermessage
 */
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import type { ResponseUsage, SealHandle, VendorEvent, VendorMessage, VendorReader } from "../realtime-dialect.ts"
import { rateOf, soundBytes } from "./sound.ts"
import { renamedUsage, type UsageNames, usageOfMetadata } from "./usage.ts"

/** Sound and nothing else. Most messages are. */
const plainSound =
  /^\s*\{\s*"serverContent"\s*:\s*\{\s*"modelTurn"\s*:\s*\{\s*"parts"\s*:\s*\[\s*\{\s*"inlineData"\s*:\s*\{\s*"mimeType"\s*:\s*"audio\/pcm(?:;rate=(\d{4,5}))?"\s*,\s*"data"\s*:\s*"([A-Za-z0-9+/_-]*={0,2})"\s*\}\s*\}\s*\]\s*\}\s*\}\s*\}\s*$/

export const isVendorSound = (bytes: Buffer): boolean => plainSound.test(bytes.toString("latin1"))

const malformed: VendorMessage = { events: [{ is: "malformed" }] }

export class LiveReader implements VendorReader {
  readonly #seal: SealHandle
  readonly #names: UsageNames
  #responses = 0
  /** The response that runs. */
  #running: string | undefined
  /** The usage of the one that runs, or that has ended. */
  #usage: { readonly report: ResponseUsage; readonly prompt: number } | undefined
  /** Whether the turn has ended, and its usage may still come. */
  #isOver = false
  #isInterrupted = false
  #hasCall = false
  /** The counts of the last report. */
  #lastCounts = ""
  /** The client's speech that has no end yet. */
  #speech = ""

  constructor(seal: SealHandle, names: UsageNames) {
    this.#seal = seal
    this.#names = names
  }

  read(bytes: Buffer): VendorMessage {
    const sound = plainSound.exec(bytes.toString("latin1"))
    if (sound !== null) {
      const [, rate, data = ""] = sound
      return { events: this.#content(soundBytes(data.length, rate, "output"), 0) }
    }
    const message = parseObject(bytes.toString("utf8"))
    return message === undefined ? malformed : { events: this.#eventsOf(message), ...this.#changed(message) }
  }

  settled(isEnd: boolean): ReadonlyArray<VendorEvent> {
    const events: Array<VendorEvent> = []
    if (this.#isOver || (isEnd && this.#usage !== undefined)) this.#finish(events)
    return events
  }

  #eventsOf(message: JsonObject): ReadonlyArray<VendorEvent> {
    const content = objectAt(message, "serverContent")
    const call = objectAt(message, "toolCall")
    const { audioBytes, textBytes } = sizeOf(content, call)
    const heard = objectAt(content, "inputTranscription")
    this.#speech += stringAt(heard, "text") ?? ""
    const hasContent = audioBytes + textBytes > 0
    const isEnd = content?.["turnComplete"] === true
    const events: Array<VendorEvent> = []
    if (hasContent || isEnd || heard?.["finished"] === true) this.#heard(events)
    if (hasContent) events.push(...this.#content(audioBytes, textBytes))
    if (call !== undefined) this.#hasCall = true
    if (content?.["interrupted"] === true) this.#isInterrupted = true
    const usage = objectAt(message, "usageMetadata")
    if (usage !== undefined) this.#report(usage, events)
    if (isEnd) this.#end(events)
    else if (this.#usage !== undefined && this.#isOver) this.#finish(events)
    return events
  }

  #content(audioBytes: number, textBytes: number): Array<VendorEvent> {
    const events: Array<VendorEvent> = []
    if (this.#isOver) this.#finish(events)
    events.push(...this.#begun(), { is: "delta", responseId: this.#running ?? "", audioBytes, textBytes })
    return events
  }

  #begun(): ReadonlyArray<VendorEvent> {
    if (this.#running !== undefined) return []
    this.#running = `response_${++this.#responses}`
    return [{ is: "created", responseId: this.#running }]
  }

  #report(usage: JsonObject, events: Array<VendorEvent>): void {
    const report = usageOfMetadata(usage)
    if (report === undefined) return
    const { inTokens, cacheReadTokens } = report.counts
    const prompt = inTokens + cacheReadTokens
    const counts = `${prompt} ${report.counts.outTokens}`
    // A report may come again after the turn.
    if (this.#running === undefined && counts === this.#lastCounts) return
    this.#lastCounts = counts
    // The same prompt is the same response, of which a later report has more.
    if (this.#usage !== undefined && this.#usage.prompt !== prompt) this.#finish(events)
    events.push(...this.#begun())
    this.#usage = { report, prompt }
  }

  #end(events: Array<VendorEvent>): void {
    if (this.#usage !== undefined) this.#finish(events)
    else if (this.#running !== undefined) {
      if (this.#isOver) this.#finish(events)
      else this.#isOver = true
    } else {
      this.#isInterrupted = false
      events.push({ is: "unanswered" })
    }
  }

  #finish(events: Array<VendorEvent>): void {
    const responseId = this.#running
    if (responseId !== undefined) {
      const stop = this.#isInterrupted ? "interrupted" : this.#hasCall ? "tool_call" : "end"
      events.push({ is: "done", responseId, usage: this.#usage?.report, stop, hasFailed: false })
    }
    this.#running = undefined
    this.#usage = undefined
    this.#isOver = false
    this.#isInterrupted = false
    this.#hasCall = false
  }

  #heard(events: Array<VendorEvent>): void {
    if (this.#speech === "") return
    const usage = { seconds: 0, inTokens: 0, outTokens: 0 }
    // The API has no message that takes speech out of a conversation.
    events.push({ is: "transcribed", usage, speech: { words: this.#speech, takeOut: undefined } })
    this.#speech = ""
  }

  /** The message with the name of the conversation sealed, and with the names of counts that the client reads. */
  #changed(message: JsonObject): Pick<VendorMessage, "sent"> {
    const update = objectAt(message, "sessionResumptionUpdate")
    const handle = stringAt(update, "newHandle")
    const usage = objectAt(message, "usageMetadata")
    const renamed = usage && renamedUsage(usage, this.#names)
    if (!handle && renamed === undefined) return {}
    const sent = {
      ...message,
      ...(handle && { sessionResumptionUpdate: { ...update, newHandle: this.#seal(handle) } }),
      ...(renamed !== undefined && { usageMetadata: renamed }),
    }
    return { sent: JSON.stringify(sent) }
  }
}

/** The bytes of sound and of text in a message. */
const sizeOf = (content: JsonObject | undefined, call: JsonObject | undefined) => {
  let audioBytes = 0
  let textBytes = (stringAt(objectAt(content, "outputTranscription"), "text") ?? "").length
  for (const part of objectsAt(objectAt(content, "modelTurn"), "parts")) {
    const blob = objectAt(part, "inlineData")
    const mimeType = stringAt(blob, "mimeType") ?? ""
    if (mimeType.startsWith("audio/")) {
      audioBytes += soundBytes((stringAt(blob, "data") ?? "").length, rateOf(mimeType), "output")
    } else textBytes += (stringAt(part, "text") ?? JSON.stringify(part)).length
  }
  if (call !== undefined) textBytes += JSON.stringify(call).length
  return { audioBytes, textBytes }
}
