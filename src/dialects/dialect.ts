/** A vendor's API with the kinds of calls that it has. */
import type { BatchDialect } from "./batch-dialect.ts"
import type { CacheDialect } from "./cache-dialect.ts"
import type { ChatDialect } from "./chat-dialect.ts"
import type { ImageDialect, SpeechDialect, TranscriptionDialect, VideoDialect } from "./media-dialect.ts"
import type { RealtimeDialect } from "./realtime-dialect.ts"
import type { SearchDialect } from "./search/dialect.ts"
import type { EmbeddingDialect, ModerationDialect, RerankDialect } from "./whole-dialect.ts"
import type { VendorAccess } from "./wire.ts"

export interface Dialect extends VendorAccess {
  readonly chat?: ChatDialect
  readonly search?: SearchDialect
  readonly embedding?: EmbeddingDialect
  readonly rerank?: RerankDialect
  readonly moderation?: ModerationDialect
  readonly image?: ImageDialect
  readonly speech?: SpeechDialect
  readonly transcription?: TranscriptionDialect
  readonly video?: VideoDialect
  readonly realtime?: RealtimeDialect
  readonly batch?: BatchDialect
  readonly cache?: CacheDialect
}
