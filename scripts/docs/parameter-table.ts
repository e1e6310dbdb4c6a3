/** The parameters and blocks that each dialect and profile supports, found by trying. */
import { Result } from "effect"
import { profilesOf } from "../../src/catalogue/references.ts"
import type { VendorRequest } from "../../src/dialects/chat-dialect.ts"
import { dialectOf } from "../../src/dialects/index.ts"
import type { MediaBlock } from "../../src/protocol/block.ts"
import { type ChatDialectName, chatDialectNames, type Vendor } from "../../src/protocol/catalogue/vendor.ts"
import { extraNames } from "../../src/protocol/extra-params.ts"
import { extraExamples } from "./pairs.ts"

type Place = Pick<Vendor, "dialect" | "profile">

export const chatPlaces: ReadonlyArray<Place> = chatDialectNames.flatMap((dialect): ReadonlyArray<Place> => {
  const profiles = profilesOf(dialect).map((profile) => ({ dialect, profile }))
  return dialect === "openai-chat" ? profiles : [{ dialect }, ...profiles]
})

/** Models of a family that has the most words. */
const models: Readonly<Partial<Record<ChatDialectName, string>>> = {
  bedrock: "anthropic.claude-sonnet-4-5-20250929-v1:0",
  anthropic: "claude-sonnet-4-5",
  gemini: "gemini-3-pro",
}

const plain = (dialect: Place["dialect"]): VendorRequest => ({
  model: Object.entries(models).find(([name]) => name === dialect)?.[1] ?? "m",
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }],
  tools: [],
  maxTokens: 10,
  stop: [],
  canReason: false,
  cache: { enabled: false, skipWrite: true },
  stream: false,
})

const media: Readonly<Record<"videos" | "sound", MediaBlock>> = {
  videos: { t: "video", mime: "video/mp4", data: "AAAAIGZ0eXA=" },
  sound: { t: "audio", mime: "audio/wav", data: "UklGRiQAAAA=" },
}

/** The columns of the table. */
export const parameters = [...extraNames, "videos", "sound"] as const

const asked = (place: Place, name: (typeof parameters)[number]): VendorRequest => {
  const request = plain(place.dialect)
  if (name === "videos" || name === "sound") return { ...request, thread: [{ role: "user", blocks: [media[name]] }] }
  return { ...request, extras: { [name]: extraExamples[name] } }
}

export const hasWords = (place: Place, name: (typeof parameters)[number]): boolean => {
  const google = { project: "p", location: "l" }
  const { chat } = dialectOf({ ...place, ...(place.profile === "vertex" && { google }) })
  return chat !== undefined && Result.isSuccess(chat.encode(asked(place, name)))
}

const nameOf = ({ dialect, profile }: Place): string =>
  profile === undefined ? `\`${dialect}\`` : `\`${dialect}\`, \`${profile}\``

export const parameterTable = (): string =>
  [
    `| dialect, profile | ${parameters.join(" | ")} |`,
    `| --- | ${parameters.map(() => "---").join(" | ")} |`,
    ...chatPlaces.map(
      (place) => `| ${nameOf(place)} | ${parameters.map((name) => (hasWords(place, name) ? "yes" : "")).join(" | ")} |`,
    ),
  ].join("\n")
