/** The lines of a realtime session: the texts of both sides, in the order in which they began. Pure. */
import type { VoiceMessage } from "../../voice/protocol.ts"

export interface SpokenLine {
  readonly who: "You" | "Model"
  readonly text: string
  /** Whether another text begins a new line. */
  readonly isOver: boolean
  readonly isInterrupted: boolean
}

type Lines = ReadonlyArray<SpokenLine>

export const withTyped = (lines: Lines, text: string): Lines => [
  ...lines,
  { who: "You", text, isOver: true, isInterrupted: false },
]

export const withMessage = (lines: Lines, message: VoiceMessage): Lines => {
  const { said = "", heard = "", isInterrupted = false, isAnswered = false } = message
  const longer = withText(withText(lines, "You", heard), "Model", said)
  const marked = isInterrupted ? withInterruption(longer) : longer
  return isAnswered ? marked.map((line) => (line.isOver ? line : { ...line, isOver: true })) : marked
}

/** A transcript of the speaker may come while the model answers, so a text continues the side's own line. */
const withText = (lines: Lines, who: SpokenLine["who"], text: string): Lines => {
  if (text === "") return lines
  const at = lines.findLastIndex((line) => line.who === who && !line.isOver)
  const line = lines[at]
  if (line === undefined) return [...lines, { who, text, isOver: false, isInterrupted: false }]
  return lines.with(at, { ...line, text: line.text + text })
}

/** The model's sound may be played when its answer is over. */
const withInterruption = (lines: Lines): Lines => {
  const at = lines.findLastIndex(({ who }) => who === "Model")
  const line = lines[at]
  return line === undefined ? lines : lines.with(at, { ...line, isInterrupted: true })
}
