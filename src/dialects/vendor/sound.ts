/** Streams of sound. */
import type { SpeechFormat } from "../../protocol/kinds/speech.ts"
import type { ReportedUsage, SpeechStream } from "../media-dialect.ts"
import { type JsonObject, parseObject } from "../parse/json.ts"
import { JsonEvents } from "../parse/json-events.ts"
import { malformedReply, type VendorFault } from "./faults.ts"

const none: ReadonlyArray<never> = []

const beginnings: ReadonlyArray<readonly [beginning: RegExp, format: SpeechFormat]> = [
  [/^RIFF/, "wav"],
  [/^fLaC/, "flac"],
  [/^OggS/, "opus"],
  [/^(ID3|\xff[\xfb\xf3\xf2])/, "mp3"],
  [/^\xff[\xf1\xf9]/, "aac"],
]

/** The format by the first bytes: servers that make only one format return that, for any request. */
const formatIn = (bytes: Uint8Array): SpeechFormat | undefined => {
  const begin = Buffer.from(bytes.subarray(0, 4)).toString("latin1")
  return beginnings.find(([beginning]) => beginning.test(begin))?.[1]
}

/** Bytes as they arrive; the end of the connection is the end of the sound. */
export class PlainSound implements SpeechStream {
  format: SpeechFormat
  /** A reply of text is no sound. */
  readonly fault: VendorFault | undefined
  readonly usage = undefined
  isWhole = false
  #hasBegun = false

  constructor(format: SpeechFormat, contentType: string) {
    this.format = format
    this.fault = /^(text\/|application\/json)/.test(contentType) ? malformedReply : undefined
  }

  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    // Samples may begin with anything.
    if (!this.#hasBegun && this.format !== "pcm") this.format = formatIn(bytes) ?? this.format
    this.#hasBegun = true
    return [bytes]
  }

  end(): ReadonlyArray<Uint8Array> {
    this.isWhole = true
    return none
  }
}

/** The content of one event of a stream of sound. */
export interface SoundEvent {
  /** In base64. */
  readonly audio?: string | undefined
  readonly usage?: ReportedUsage | undefined
  readonly fault?: VendorFault | undefined
  readonly isLast?: boolean | undefined
}

/** Sound in events of JSON. */
export class EventSound implements SpeechStream {
  readonly format: SpeechFormat
  fault: VendorFault | undefined
  usage: ReportedUsage | undefined
  isWhole = false
  readonly #events = new JsonEvents()
  readonly #read: (event: JsonObject) => SoundEvent

  constructor(format: SpeechFormat, read: (event: JsonObject) => SoundEvent) {
    this.format = format
    this.#read = read
  }

  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    return this.#take(this.#events.push(bytes))
  }

  end(): ReadonlyArray<Uint8Array> {
    return this.#take(this.#events.end())
  }

  #take(events: ReadonlyArray<JsonObject>): ReadonlyArray<Uint8Array> {
    const sound: Array<Uint8Array> = []
    for (const event of events) {
      const { audio, usage, fault, isLast } = this.#read(event)
      if (audio !== undefined && audio !== "") sound.push(Buffer.from(audio, "base64"))
      if (usage !== undefined) this.usage = usage
      if (fault !== undefined) this.fault ??= fault
      if (isLast === true) this.isWhole = true
    }
    if (this.#events.isMalformed) this.fault ??= malformedReply
    return sound
  }
}

/** Sound within one object of JSON, which is read at its end. */
export class JsonSound implements SpeechStream {
  readonly format: SpeechFormat
  fault: VendorFault | undefined
  usage: ReportedUsage | undefined
  isWhole = false
  readonly #read: (json: JsonObject) => SoundEvent
  #chunks: Array<Uint8Array> = []

  constructor(format: SpeechFormat, read: (json: JsonObject) => SoundEvent) {
    this.format = format
    this.#read = read
  }

  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    this.#chunks.push(Buffer.from(bytes))
    return none
  }

  end(): ReadonlyArray<Uint8Array> {
    const json = parseObject(Buffer.concat(this.#chunks).toString("utf8"))
    this.#chunks = []
    const { audio = "", usage, fault } = json === undefined ? {} : this.#read(json)
    this.usage = usage
    this.fault = fault ?? (audio === "" ? malformedReply : undefined)
    this.isWhole = this.fault === undefined
    return this.isWhole ? [Buffer.from(audio, "base64")] : none
  }
}

/** Puts the head of a WAV file before sound without one: 24 kHz, 16 bit, one channel, of a length that is not known. */
export class WavSound implements SpeechStream {
  readonly format = "wav"
  readonly #raw: SpeechStream
  #hasHead = false

  /** @param raw of the format `pcm` */
  constructor(raw: SpeechStream) {
    this.#raw = raw
  }

  push(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    return this.#headed(this.#raw.push(bytes))
  }

  end(): ReadonlyArray<Uint8Array> {
    return this.#headed(this.#raw.end())
  }

  get fault(): VendorFault | undefined {
    return this.#raw.fault
  }

  get usage(): ReportedUsage | undefined {
    return this.#raw.usage
  }

  get isWhole(): boolean {
    return this.#raw.isWhole
  }

  #headed(sound: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> {
    if (this.#hasHead || sound.length === 0) return sound
    this.#hasHead = true
    return [wavHead, ...sound]
  }
}

const rate = 24_000
const bytesPerSample = 2
/** The length in the head of a WAV file if it is not known, as other programs write it. */
const unknownLength = 0xffffffff

const makeWavHead = (): Buffer => {
  const head = Buffer.alloc(44)
  head.write("RIFF", 0, "latin1")
  head.writeUInt32LE(unknownLength, 4)
  head.write("WAVEfmt ", 8, "latin1")
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * bytesPerSample, 28)
  head.writeUInt16LE(bytesPerSample, 32)
  head.writeUInt16LE(bytesPerSample * 8, 34)
  head.write("data", 36, "latin1")
  head.writeUInt32LE(unknownLength, 40)
  return head
}

const wavHead = makeWavHead()
