/** The properties of the playground's panels. */
import type { Credential } from "./credential.ts"
import type { KnownModel } from "./model-select.ts"

export interface PanelProps {
  readonly credential: Credential
  /** Whether calls can be made: an organisation is chosen, or a key is typed. */
  readonly isReady: boolean
  readonly models: ReadonlyArray<KnownModel>
}
