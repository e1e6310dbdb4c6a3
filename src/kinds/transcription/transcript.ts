/** Transcripts as text: the formats that a client may ask for, made from the times of segments. */
import type { Segment } from "../../protocol/kinds/transcription.ts"

/** SubRip. */
export const toSrt = (segments: ReadonlyArray<Segment>): string =>
  segments
    .map(({ text, start, end }, at) => `${at + 1}\n${clock(start, ",")} --> ${clock(end, ",")}\n${cue(text)}\n\n`)
    .join("")

/** WebVTT. Source: https://www.w3.org/TR/webvtt1/ */
export const toVtt = (segments: ReadonlyArray<Segment>): string =>
  `WEBVTT\n\n${segments.map(({ text, start, end }) => `${clock(start, ".")} --> ${clock(end, ".")}\n${escaped(cue(text))}\n\n`).join("")}`

/** An empty line would end a cue, and an arrow would begin its times. */
const cue = (text: string): string =>
  text
    .trim()
    .replace(/\s*\n\s*/g, "\n")
    .replaceAll("-->", "->")

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const clock = (seconds: number, separator: "," | "."): string => {
  const millis = Math.max(0, Math.round(seconds * 1000))
  const two = (value: number) => String(value).padStart(2, "0")
  const [hours, minutes] = [Math.floor(millis / 3_600_000), Math.floor(millis / 60_000) % 60]
  return `${two(hours)}:${two(minutes)}:${two(Math.floor(millis / 1000) % 60)}${separator}${String(millis % 1000).padStart(3, "0")}`
}
