/** Dialects by their name in the catalogue, with the changes of a vendor's profile. */
import { Result } from "effect"
import type { DialectName, Vendor } from "../protocol/catalogue.ts"
import { anthropic } from "./anthropic/vendor.ts"
import type { Dialect } from "./dialect.ts"
import { gemini } from "./gemini/vendor.ts"
import { type ChatProfile, chatProfiles } from "./openai-chat/profiles.ts"
import { makeChatDialect, openaiChat } from "./openai-chat/vendor.ts"
import { openaiResponses } from "./openai-responses/vendor.ts"
import type { VendorDialect } from "./vendor-dialect.ts"
import type { EncodeRefusal, WireRequest } from "./wire.ts"

/** A dialect that has chat alone. */
const chatOnly = (chat: Dialect): VendorDialect => ({
  authorize: chat.authorize,
  decodeError: chat.decodeError,
  chat,
})

/** OpenAI's API with a vendor's profile. */
const openai = (profile: ChatProfile): VendorDialect => chatOnly(makeChatDialect(profile))

/** Chat in each dialect that has it. */
export const chatDialects = { "openai-chat": openaiChat, "openai-responses": openaiResponses, anthropic, gemini }

export const dialects: Readonly<Record<DialectName, VendorDialect>> = {
  "openai-chat": openai(chatProfiles.openai),
  "openai-responses": chatOnly(openaiResponses),
  anthropic: chatOnly(anthropic),
  gemini: chatOnly(gemini),
}

/** The dialect of a vendor of the catalogue. */
export const dialectOf = ({
  dialect: name,
  profile,
  apiVersion,
}: Pick<Vendor, "dialect" | "profile" | "apiVersion">): VendorDialect => {
  const dialect = name === "openai-chat" && profile !== undefined ? openai(chatProfiles[profile]) : dialects[name]
  return profile === "azure" ? onAzure(dialect, apiVersion) : dialect
}

/**
 * Azure's access to a dialect: its own header, and the path of a deployment (named like the model) with an API version.
 * Source: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
const onAzure = (dialect: VendorDialect, apiVersion: string | undefined): VendorDialect => {
  const { chat } = dialect
  const authorize = (credential: string) => ({ "api-key": credential })
  const moved = (wire: Result.Result<WireRequest, EncodeRefusal>, model: string) =>
    Result.map(wire, (wire) => ({ ...wire, path: azurePath(wire.path, model, apiVersion) }))
  return {
    ...dialect,
    authorize,
    ...(chat !== undefined && {
      chat: {
        ...chat,
        authorize,
        canSearch: () => false,
        encode: (request) => moved(chat.encode(request), request.model),
      },
    }),
  }
}

const azurePath = (path: string, model: string, apiVersion: string | undefined): string => {
  if (apiVersion === undefined) return `/openai/v1${path}`
  const place = path === "/responses" ? "/openai" : `/openai/deployments/${encodeURIComponent(model)}`
  return `${place}${path}?api-version=${apiVersion}`
}
