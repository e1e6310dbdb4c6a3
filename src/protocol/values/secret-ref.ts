/**
 * References to secrets in a catalogue. `env:NAME` and `file:PATH` name what the machine has; the others name a secret in a
 * store, and `#member` one member of it, if it is JSON:
 *
 * - `vault:secret/data/weir#openai`: a path of HashiCorp Vault's key-value engine; with version 2 it has `data/`
 * - `aws-sm:NAME` or `aws-sm:ARN`
 * - `gcp-sm:PROJECT/SECRET`, `gcp-sm:PROJECT/SECRET/VERSION` or `gcp-sm:projects/P/secrets/S/versions/V`
 * - `azure-kv:VAULT/SECRET` or `azure-kv:VAULT/SECRET/VERSION`
 */

const member = "(?:#[^\\s#]{1,256})?"

const patterns = {
  vault: /vault:(?!\S*\.\.)[\w.@+=-]+(?:\/[\w.@+=-]+)+/,
  "aws-sm": /aws-sm:(?:arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:)?[\w/+=.@-]{1,512}/,
  "gcp-sm": /gcp-sm:(?:projects\/[a-z0-9.:-]+\/secrets\/[\w-]+\/versions\/[\w-]+|[a-z0-9.:-]+\/[\w-]+(?:\/[\w-]+)?)/,
  "azure-kv": /azure-kv:[A-Za-z0-9-]{3,24}\/[A-Za-z0-9-]{1,127}(?:\/[0-9a-f]{32})?/,
}

export type StoreName = keyof typeof patterns

const stored = Object.values(patterns)
  .map(({ source }) => source + member)
  .join("|")

/** The source of a regular expression for every reference. */
export const referencePattern = `env:[A-Za-z_][A-Za-z0-9_]*|file:.+|${stored}`

export const referenceForms =
  "env:NAME, file:PATH, vault:PATH, aws-sm:NAME, gcp-sm:PROJECT/SECRET, azure-kv:VAULT/SECRET"

/** A secret in a store. */
export interface StoredSecret {
  readonly store: StoreName
  /** Its name there, in the form of the reference. */
  readonly name: string
}

export interface StoreReference extends StoredSecret {
  /** The reference without its member: references to members of one secret have the same. */
  readonly whole: string
  /** Undefined for the whole secret. */
  readonly member: string | undefined
}

const whole = new RegExp(`^(?:${stored})$`)

/** Undefined for a reference to a variable or a file of the machine. */
export const storeReferenceOf = (ref: string): StoreReference | undefined => {
  const [scheme = ""] = ref.split(":", 1)
  if (!isStoreName(scheme) || !whole.test(ref)) return undefined
  const [named = "", member] = ref.split("#", 2)
  return { store: scheme, name: named.slice(scheme.length + 1), whole: named, member }
}

const isStoreName = (scheme: string): scheme is StoreName => Object.hasOwn(patterns, scheme)
