/** Calls about pictures and sound, in a vendor's format: pure translation, like {@link WholeDialect}. */
import type { Result } from "effect"
import type { MediaBody, NamedFile } from "../media/media-file.ts"
import type { ImageRequest, MadeFigures, MadeImage } from "../protocol/kinds/image.ts"
import type { SpeechFormat, SpeechRequest } from "../protocol/kinds/speech.ts"
import type { HeardToken, Segment, Timed, TranscriptionRequest, Word } from "../protocol/kinds/transcription.ts"
import type { VideoFields, VideoVariant } from "../protocol/kinds/video.ts"
import type { JsonObject } from "./parse/json.ts"
import type { VendorFault } from "./vendor/faults.ts"
import type { ReportedTokens, WholeDialect } from "./whole-dialect.ts"
import type { AnyWireRequest, EncodeRefusal, WireRequest } from "./wire.ts"

/** Usage as the vendor reported it; tokens of pictures and of sound are part of the sums. */
export interface ReportedUsage extends ReportedTokens {
  readonly outTokens: number | undefined
  readonly imageIn?: number | undefined
  readonly audioIn?: number | undefined
}

export interface ImageAsked extends Omit<ImageRequest, "model" | "images" | "mask" | "n" | "meta"> {
  readonly images: ReadonlyArray<NamedFile>
  readonly mask: NamedFile | undefined
  readonly n: number
}

export interface Pictured {
  readonly images: ReadonlyArray<MadeImage>
  readonly made?: MadeFigures | undefined
  readonly usage: ReportedUsage | undefined
}

/** The content of one event of a stream. */
export type PictureEvent =
  | { readonly partial: MadeImage }
  | { readonly whole: Pictured }
  | { readonly fault: VendorFault }

export interface ImageDialect extends WholeDialect<ImageAsked, Pictured, string | MediaBody> {
  /** Pictures that the vendor makes in one request. */
  readonly maxImages: (family: string) => number
  /** Reads one event of a stream; undefined if it has nothing of a picture. Absent if the vendor does not stream. */
  readonly event?: (event: JsonObject) => PictureEvent | undefined
}

export interface SpeechAsked extends Pick<SpeechRequest, "input" | "voice" | "speed" | "instructions"> {
  /** The format; undefined is the vendor's best: mp3, or wav. */
  readonly format: SpeechFormat | undefined
  /** Whether the call is billed by tokens: then the vendor must report them. */
  readonly needsTokens: boolean
}

/** Reads sound as it arrives. */
export interface SpeechStream {
  readonly format: SpeechFormat
  /** Reads bytes of the reply. @returns the sound in them */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<Uint8Array>
  /** The connection ended. @returns the rest */
  readonly end: () => ReadonlyArray<Uint8Array>
  readonly fault: VendorFault | undefined
  readonly usage: ReportedUsage | undefined
  /** Whether this was the end. */
  readonly isWhole: boolean
}

export interface SpeechDialect {
  readonly encode: (asked: SpeechAsked, model: string, family: string) => Result.Result<AnyWireRequest, EncodeRefusal>
  /** @param contentType the content type of the reply */
  readonly reader: (asked: SpeechAsked, contentType: string) => SpeechStream
}

export interface TranscriptionAsked
  extends Pick<TranscriptionRequest, "language" | "prompt" | "temperature" | "chunking" | "speakers" | "logprobs"> {
  readonly file: NamedFile
  readonly translate: boolean
  /** The units whose times the reply must report. */
  readonly times: ReadonlyArray<Timed>
  /** Whether the reply must report the speakers. */
  readonly diarize: boolean
  readonly stream: boolean
  /** Whether the call is billed by its length, which the vendor should report. */
  readonly needsSeconds: boolean
}

export interface Transcribed {
  readonly text: string
  readonly language?: string | undefined
  /** The length of the sound, as the vendor reports it. */
  readonly seconds?: number | undefined
  readonly segments?: ReadonlyArray<Segment> | undefined
  readonly words?: ReadonlyArray<Word> | undefined
  readonly logprobs?: ReadonlyArray<HeardToken> | undefined
  readonly usage?: ReportedUsage | undefined
}

/** The content of one event of a stream. */
export type TranscriptEvent =
  | { readonly text: string }
  | { readonly segment: Segment }
  | { readonly whole: Transcribed }
  | { readonly fault: VendorFault }

export interface TranscriptionDialect extends WholeDialect<TranscriptionAsked, Transcribed, string | MediaBody> {
  readonly event?: (event: JsonObject) => TranscriptEvent | undefined
}

export interface VideoAsked extends Pick<VideoFields, "prompt" | "seconds" | "size"> {
  readonly image: NamedFile | undefined
  /** The vendor's id of the video that is changed. */
  readonly source?: string
}

/** The vendor's report of a job. */
export interface VendorJob {
  readonly state: "queued" | "running" | "done" | "failed"
  /** The vendor's name of a state that the dialect does not know; the job counts as running. */
  readonly unknownState?: string | undefined
  /** The progress in per cent. */
  readonly progress?: number | undefined
  /** The error of a job that failed. */
  readonly fault?: VendorFault | undefined
  /** The location of the result: a path or an address, as the dialect reads it. */
  readonly content?: string | undefined
}

/** A vendor's API of videos. */
export interface VideoDialect extends WholeDialect<VideoAsked, { readonly job: string }, string | MediaBody> {
  readonly poll: (job: string) => WireRequest
  readonly status: (body: JsonObject) => VendorJob | undefined
  /** Absent if the vendor does not support it. */
  readonly cancel?: (job: string) => WireRequest
  /** The parts of a finished video that the vendor has. */
  readonly variants: ReadonlyArray<VideoVariant>
  /**
   * Fetches the result.
   * @returns undefined if it is not at the vendor
   */
  readonly content: (
    job: string,
    content: string | undefined,
    baseUrl: string,
    variant: VideoVariant,
  ) => WireRequest | undefined
}
