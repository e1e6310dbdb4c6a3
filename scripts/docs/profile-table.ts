/** The table of the profiles of `openai-chat`, from their records. */
import type { ChatVendor } from "../../src/dialects/openai-chat/chat-profile.ts"
import { chatProfiles } from "../../src/dialects/openai-chat/profiles.ts"
import { ChatProfileName } from "../../src/protocol/catalogue/vendor.ts"
import { ReasoningLevel } from "../../src/protocol/exchange.ts"

const caches = { key: "`prompt_cache_key`", marks: "`cache_control`" } as const
const documents = { data: "data", "data-or-url": "data, URL", document_url: "data, URL" } as const

/** The efforts that the vendor accepts, if they are not those of the level. */
const effortsOf = ({ efforts, models }: ChatVendor): string => {
  if (efforts === undefined) return ""
  return ` (${models === undefined ? efforts("any")?.join(", ") : "by the model"})`
}

const reasoningOf = (vendor: ChatVendor): string => {
  const fields = new Set(ReasoningLevel.literals.flatMap((level) => Object.keys(vendor.reasoning(level, "any"))))
  if (fields.size === 0) return "not supported"
  return [...fields].map((field) => `\`${field}\``).join(", ") + effortsOf(vendor)
}

const rowOf = (name: ChatProfileName): string => {
  const vendor = chatProfiles[name]
  const back = vendor.reasoningBack === undefined ? "no" : `\`${vendor.reasoningBack}\``
  const cache = vendor.cache === undefined ? "" : caches[vendor.cache]
  const variable = vendor.variable === undefined ? "" : `\`${vendor.variable}\``
  return `| \`${name}\` | ${reasoningOf(vendor)} | ${back} | ${cache} | ${documents[vendor.documents]} | \`${vendor.baseUrl}\` | ${variable} | [page](${vendor.documentation}) |`
}

export const profileTable = (): string =>
  [
    "| `profile` | reasoning request | reasoning sent back | explicit cache | documents | base URL | API key | documentation |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...ChatProfileName.literals.map(rowOf),
  ].join("\n")
