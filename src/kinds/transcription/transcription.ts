/** Transcription and translation of speech: the kind `transcription`. */
import { Result } from "effect"
import type { Asked, Kind } from "../../calls/kind.ts"
import { modelFor, orNotConfigured, targetsFor } from "../../calls/model.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Transcribed, TranscriptionAsked, TranscriptionDialect } from "../../dialects/media-dialect.ts"
import type { NamedFile } from "../../media/media-file.ts"
import type { SoundLength } from "../../media/sound-length.ts"
import { hasUnitPrice, maxCharge, priceUsage, unitCharge, unitDims } from "../../money/pricing.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import type {
  Segment,
  TranscriptFormat,
  TranscriptionFields,
  TranscriptionResponse,
} from "../../protocol/kinds/transcription.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import { dailyCountsOf } from "../daily-counts.ts"
import { implausibleMedia, isByTokens, mediaBill } from "../media/media-bill.ts"
import { encodeWhole, openingOf, replyHead } from "../whole/whole-call.ts"
import type { VendorStep } from "../whole/whole-readers.ts"
import { WholeTask } from "../whole/whole-task.ts"
import { toSrt, toVtt } from "./transcript.ts"

/** A request with its sound as a file, and how long that is. */
export interface TranscriptionCall extends TranscriptionFields {
  readonly file: NamedFile
  readonly length: SoundLength
}

/** Tokens of a second: sound that is read, and words that are spoken at most. */
const soundTokensPerSecond = 50
const wordTokensPerSecond = 25
/** The plausible difference between a vendor's clock and that of the file. */
const spareSeconds = 2

export const transcription: Kind<TranscriptionCall, TranscriptionResponse> = {
  name: "transcription",
  purpose: "transcription",
  modelOf: ({ model }) => model,
  capability: "speechToText",
  dailyCounts: dailyCountsOf("asr"),
  reviewed: ({ prompt = "" }) => prompt,
  plan: (asked) => {
    const { services, request, caller, catalogue, nowMs } = asked
    const { model, length, stream, format = "json" } = request
    const found = modelFor(model, "transcription", caller, catalogue, nowMs)
    return Result.map(orNotConfigured(found, "transcription", catalogue, "asr_not_configured"), ({ entry, price }) => {
      const promptBytes = Buffer.byteLength(request.prompt ?? "")
      const { most, likely, isCounted } = length
      const tokens = {
        price,
        held: {
          inTokens: tokensOfBytes(promptBytes) + most * soundTokensPerSecond,
          outTokens: most * wordTokensPerSecond,
        },
        limit: {
          inTokens: promptBytes + 1024 + most * soundTokensPerSecond * 4,
          outTokens: 1024 + most * wordTokensPerSecond * 4,
        },
      }
      const units = (count: number) =>
        hasUnitPrice(price, "audio_seconds") ? unitDims(price, "audio_seconds", count) : { audio_seconds: count }
      // A vendor cannot have heard more than the recording has.
      const heard = ({ seconds: told }: Transcribed): number | undefined =>
        told !== undefined && told > 0 && told <= most + spareSeconds ? Math.ceil(told) : undefined
      const asking = askedOf(request, hasUnitPrice(price, "audio_seconds"))
      const task: WholeTask<Transcribed, TranscriptionResponse> = new WholeTask<Transcribed, TranscriptionResponse>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, tokens.held.inTokens, tokens.held.outTokens) + unitCharge(price, units(most)),
          holdTokens: isByTokens(price) ? tokens.held.inTokens + tokens.held.outTokens : 0,
          operation: "transcription",
          encode: (target) => encodeWhole(target, dialectAt(target), "transcription", asking),
          decode: (target, body, _part, headers) => {
            const got = dialectAt(target)?.decode(body, asking, headers)
            return got !== undefined && hasTimes(got, asking) ? got : undefined
          },
          bill: (parts) => {
            const [got = noText] = parts
            const told = heard(got)
            const reason = told === undefined && !isByTokens(price) ? guessReason(got, isCounted) : undefined
            return mediaBill(tokens, usagesOf(parts), units(told ?? likely), reason, "audioIn")
          },
          implausible: (parts) => {
            const [got = noText] = parts
            if (got.seconds !== undefined && heard(got) === undefined) return { reported: got.seconds, limit: most }
            return implausibleMedia(tokens, usagesOf(parts))
          },
          charge: ({ counts }) => priceUsage(price, counts),
          answered: (parts) => parts.map(({ text }) => text).join("\n"),
          edited: editTranscript,
          finish: (parts, usage) => {
            const [got = noText] = parts
            const { language, segments, words, logprobs } = got
            const { times, diarize } = asking
            const isTold = format === "verbose" || format === "diarized"
            const duration = got.seconds ?? (isCounted ? likely : undefined)
            const head = {
              ...replyHead(asked),
              text: textIn(format, got),
              ...(language !== undefined && { language }),
              ...(duration !== undefined && { duration }),
              ...(isTold && (diarize || times.includes("segment")) && segments !== undefined && { segments }),
              ...(isTold && times.includes("word") && words !== undefined && { words }),
              ...(request.logprobs === true && logprobs !== undefined && { logprobs }),
            }
            return (balance) => ({ ...head, usage: { ...usage, balance } })
          },
          ...(stream === true && {
            stream: {
              ...streamOf(asked),
              opening: () => openingOf(asked, task.warnings),
              brokenBill: (broken) => mediaBill(tokens, [], units(likely), broken, "audioIn"),
            },
          }),
        },
        services,
      )
      return task
    })
  },
}

const dialectAt = ({ dialect }: CallTarget): TranscriptionDialect | undefined => dialect.transcription

/** The reason why seconds that the vendor did not report are an estimate; undefined if they are counted. */
const guessReason = ({ seconds }: Transcribed, isCounted: boolean): EstimatedReason | undefined => {
  if (seconds !== undefined) return "upstream_usage_implausible"
  return isCounted ? undefined : "upstream_usage_missing"
}

const noText: Transcribed = { text: "" }

const usagesOf = (parts: ReadonlyArray<Transcribed>) => parts.map(({ usage }) => usage)

const askedOf = (
  { file, language, prompt, temperature, chunking, speakers, logprobs, ...request }: TranscriptionCall,
  needsSeconds: boolean,
): TranscriptionAsked => {
  const { translate = false, format, timestamps = "segment", stream = false } = request
  return {
    file,
    translate,
    stream,
    needsSeconds,
    diarize: format === "diarized",
    times: format === "srt" || format === "vtt" ? ["segment"] : format === "verbose" ? [timestamps].flat() : [],
    ...(language !== undefined && { language }),
    ...(prompt !== undefined && { prompt }),
    ...(temperature !== undefined && { temperature }),
    ...(chunking !== undefined && { chunking }),
    ...(speakers !== undefined && { speakers }),
    ...(logprobs !== undefined && { logprobs }),
  }
}

/** A reply without the requested times or speakers is no answer; silence has none. */
const hasTimes = ({ text, segments, words }: Transcribed, { times, diarize }: TranscriptionAsked): boolean =>
  text.trim() === "" ||
  (times.every((time) => (time === "word" ? words : segments) !== undefined) &&
    (!diarize || segments?.some(({ speaker }) => speaker !== undefined) === true))

/** Single words and tokens spell a text out: where it is changed, they are left out. */
const editTranscript = (heard: Transcribed, edit: EditText): Transcribed => {
  const edited = (text: string) => edit(text, "text", false)
  const text = edited(heard.text)
  const segments = heard.segments?.map((segment) => ({ ...segment, text: edited(segment.text) }))
  const { words: _words, logprobs: _logprobs, ...rest } = heard
  return { ...(text === heard.text ? heard : rest), text, segments }
}

/** The text in the format that was asked for. */
const textIn = (format: TranscriptFormat, { text, segments = [] }: Transcribed): string =>
  format === "srt" ? toSrt(segments) : format === "vtt" ? toVtt(segments) : text

const streamOf = ({ reply }: Pick<Asked<TranscriptionCall, TranscriptionResponse>, "reply">) => {
  const told = (text: string): string => (text === "" ? "" : reply.events.delta({ i: 0, t: "text", v: text }))
  const heard = (segment: Segment): string => reply.events.segment?.(segment) ?? ""
  return {
    write: (events: string) => reply.write(events),
    told: (parts: ReadonlyArray<Transcribed>) =>
      parts.map(({ segments = [] }) => segments.map(heard).join("")).join("") +
      told(parts.map(({ text }) => text).join("")),
    event: (target: CallTarget, event: Parameters<NonNullable<TranscriptionDialect["event"]>>[0]) => {
      const step = dialectAt(target)?.event?.(event)
      if (step === undefined || "fault" in step) return step
      if ("segment" in step) return { events: heard(step.segment) } satisfies VendorStep<Transcribed>
      return (
        "whole" in step ? { whole: step.whole, events: "" } : { events: told(step.text) }
      ) satisfies VendorStep<Transcribed>
    },
  }
}
