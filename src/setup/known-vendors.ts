/** Vendors that `weir init` knows: their addresses, dialects, and names in a price file. */
import { addressOf } from "../catalogue/addresses.ts"
import { chatProfiles } from "../dialects/openai-chat/profiles.ts"
import { ChatProfileName, type Vendor } from "../protocol/catalogue/vendor.ts"
import { atAzure, atBedrock, atVertex, type CloudAccess } from "./known-clouds.ts"

export interface KnownVendor {
  readonly vendor: Omit<Vendor, "timeouts" | "credential">
  /** Variables that usually have its API key; the first one is the one to set. */
  readonly variables: readonly [string, ...ReadonlyArray<string>]
  /** Its name in a price file. */
  readonly provider: string
  /** Whether it has no list of its models that can be read: the price file lists them. */
  readonly hasNoList?: boolean
  /** The access without an API key, by the variables of its cloud; undefined if they are not set. */
  readonly access?: (variableAt: (variable: string) => string | undefined) => CloudAccess | undefined
}

/** The vendors with OpenAI's API whose profile names a variable for their API key. */
const compatible: ReadonlyArray<KnownVendor> = ChatProfileName.literals.flatMap((id) => {
  const { baseUrl, variable, priceName = id } = chatProfiles[id]
  if (variable === undefined) return []
  return { vendor: { id, dialect: "openai-chat", profile: id, baseUrl }, variables: [variable], provider: priceName }
})

export const knownVendors: ReadonlyArray<KnownVendor> = [
  {
    vendor: { id: "openai", dialect: "openai-responses", baseUrl: chatProfiles.openai.baseUrl },
    variables: ["OPENAI_API_KEY"],
    provider: "openai",
  },
  {
    vendor: { id: "anthropic", dialect: "anthropic", baseUrl: "https://api.anthropic.com" },
    variables: ["ANTHROPIC_API_KEY"],
    provider: "anthropic",
  },
  {
    vendor: { id: "gemini", dialect: "gemini", baseUrl: "https://generativelanguage.googleapis.com" },
    variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    provider: "gemini",
  },
  {
    vendor: { id: "cohere", dialect: "cohere", baseUrl: "https://api.cohere.com" },
    variables: ["COHERE_API_KEY", "CO_API_KEY"],
    provider: "cohere",
  },
  {
    vendor: { id: "bedrock", dialect: "bedrock", aws: { region: "us-east-1" } },
    variables: ["AWS_BEARER_TOKEN_BEDROCK"],
    provider: "bedrock",
    hasNoList: true,
    access: atBedrock,
  },
  {
    vendor: {
      id: "vertex",
      dialect: "gemini",
      profile: "vertex",
      google: { project: "my-project", location: "global" },
    },
    variables: ["VERTEX_ACCESS_TOKEN"],
    provider: "vertex_ai-language-models",
    hasNoList: true,
    access: atVertex,
  },
  {
    vendor: {
      id: "claude-vertex",
      dialect: "anthropic",
      profile: "vertex",
      google: { project: "my-project", location: "global" },
    },
    variables: ["VERTEX_ACCESS_TOKEN"],
    provider: "vertex_ai-anthropic_models",
    hasNoList: true,
    access: atVertex,
  },
  {
    vendor: { id: "azure", dialect: "openai-chat", profile: "azure", baseUrl: chatProfiles.azure.baseUrl },
    variables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    provider: "azure",
    // Its list has models, and not the deployments that can be called.
    hasNoList: true,
    access: atAzure,
  },
  {
    vendor: { id: "voyage", dialect: "voyage", baseUrl: "https://api.voyageai.com/v1" },
    variables: ["VOYAGE_API_KEY"],
    provider: "voyage",
    hasNoList: true,
  },
  {
    vendor: { id: "elevenlabs", dialect: "elevenlabs", baseUrl: "https://api.elevenlabs.io/v1" },
    variables: ["ELEVENLABS_API_KEY"],
    provider: "elevenlabs",
    hasNoList: true,
  },
  {
    vendor: { id: "deepgram", dialect: "deepgram", baseUrl: "https://api.deepgram.com/v1" },
    variables: ["DEEPGRAM_API_KEY"],
    provider: "deepgram",
    hasNoList: true,
  },
  ...compatible,
]

/** A vendor by its id in a catalogue, or the one whose address it has. */
export const knownVendorOf = ({ id, baseUrl }: Pick<Vendor, "id" | "baseUrl">): KnownVendor | undefined =>
  knownVendors.find(({ vendor }) => baseUrl !== undefined && addressOf(vendor) === baseUrl) ??
  knownVendors.find(({ vendor }) => vendor.id === id)
