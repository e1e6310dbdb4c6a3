/**
 * Differences of vendors with OpenAI's API in kinds other than chat: limits, names of fields, requirements, and forms of
 * replies. A vendor that is not here has OpenAI's own form. Each entry names the documentation that it follows.
 */
import type { ChatProfileName } from "../../protocol/catalogue/vendor.ts"
import type { EmbeddingPurpose } from "../../protocol/kinds/embedding.ts"
import type { ImageWord } from "./image-words.ts"

export interface KindProfile {
  readonly embedding?: EmbeddingProfile
  readonly rerank?: RerankProfile
  readonly moderation?: ModerationProfile
  readonly image?: ImageProfile
  readonly speech?: SpeechProfile
  readonly transcription?: TranscriptionProfile
}

export interface EmbeddingProfile {
  /** The number of texts in one request; 2,048 if absent. */
  readonly maxInputs?: number
  /** The field for the length of a vector; `dimensions` if absent. */
  readonly dimensions?: "dimensions" | "output_dimension"
  /** The purposes of vectors, if the vendor requires one. */
  readonly purposes?: Readonly<Record<EmbeddingPurpose, string>>
  /** Whether the vendor has a field that allows it to cut a text. */
  readonly truncates?: true
  /** Whether vectors are asked for as base64, which is shorter; not all vendors know it, and some refuse it. */
  readonly knowsBase64?: true
}

export interface RerankProfile {
  /** `/rerank` if absent. */
  readonly path?: "/rerank" | "/reranks"
  /** Whether query and documents are objects, and scores are logits. */
  readonly ranking?: true
}

export interface ModerationProfile {
  /** Whether pictures are refused. */
  readonly textsOnly?: true
}

export interface ImageProfile {
  /** Whether a model with an unknown name is OpenAI's own. */
  readonly isOwn?: true
  /** The form of a size, if it differs from OpenAI's API: `words` has a field for each of its forms. */
  readonly size?: "ratio" | "sides" | "words"
  /** The value that asks for the picture itself; `b64_json` if absent. */
  readonly data?: "base64"
  /** The fields that the vendor's models support beside a prompt and a size. */
  readonly words?: ReadonlyArray<ImageWord>
  /** `/images/generations` if absent; another is the same for all families. */
  readonly path?: "/images"
  /** The form of pictures to change; a form's parts if absent. */
  readonly edits?: "objects" | "references"
}

export interface SpeechProfile {
  /** Whether voices are ids of the vendor's own, and sound comes in base64, in JSON or in events. */
  readonly form?: "mistral"
}

export interface TranscriptionProfile {
  readonly form?: "mistral"
  /** Whether a stream has the events of OpenAI's API, for any model. */
  readonly streams?: true
  /** Whether it is an unknown server: the request is sent unchanged, and streams are OpenAI's. */
  readonly isUnknown?: true
}

export const kindProfiles: Readonly<Partial<Record<ChatProfileName, KindProfile>>> = {
  openai: { embedding: { knowsBase64: true } },
  /** A deployment has any name: https://learn.microsoft.com/azure/ai-foundry/openai/reference-preview-latest */
  azure: { embedding: { knowsBase64: true }, image: { isOwn: true }, transcription: { streams: true } },
  /** Speaches and other servers stream as OpenAI does: https://speaches.ai/usage/speech-to-text */
  generic: {
    image: { words: ["quality", "background", "format", "compression", "fidelity", "moderation", "style", "seed"] },
    transcription: { isUnknown: true },
  },
  /** https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api, and /text-rerank-api for the path */
  qwen: { embedding: { maxInputs: 10 }, rerank: { path: "/reranks" } },
  /** https://docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/reference.html, and /text-reranking */
  nvidia: {
    embedding: {
      // A purpose is required of models whose queries and documents differ.
      purposes: {
        query: "query",
        document: "passage",
        similarity: "passage",
        classification: "passage",
        clustering: "passage",
      },
      truncates: true,
    },
    rerank: { ranking: true },
  },
  /** https://docs.mistral.ai/api: endpoints embeddings, classifiers, audio/speech and audio/transcriptions */
  mistral: {
    embedding: { dimensions: "output_dimension" },
    moderation: { textsOnly: true },
    speech: { form: "mistral" },
    transcription: { form: "mistral" },
  },
  /** https://docs.bigmodel.cn/api-reference */
  zai: { embedding: { maxInputs: 64 } },
  /** https://docs.databricks.com/aws/machine-learning/foundation-model-apis/api-reference#embedding-request */
  databricks: { embedding: { maxInputs: 150 } },
  /** https://developers.cloudflare.com/workers-ai/models/bge-base-en-v1.5 */
  cloudflare: { embedding: { maxInputs: 100 } },
  /** https://openrouter.ai/blog/tutorials/image-generation */
  openrouter: {
    image: {
      isOwn: true,
      path: "/images",
      size: "words",
      words: ["quality", "background", "format", "compression", "seed"],
      edits: "references",
    },
  },
  /** https://docs.x.ai/docs/guides/image-generations */
  xai: { image: { size: "ratio", words: [], edits: "objects" } },
  /** https://docs.together.ai/reference/post-images-generations */
  together: { image: { size: "sides", data: "base64", words: ["format", "seed"] } },
}
