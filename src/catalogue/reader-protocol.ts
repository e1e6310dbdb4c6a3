/** Messages between the catalogue's reader and its worker thread. */
import { Predicate } from "effect"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import type { Declared } from "./declared.ts"
import type { CatalogueIssue } from "./load.ts"
import type { Reading, TextOptions } from "./reading.ts"

/** A text to read, or the message that the previous part was taken. */
export type ToReader =
  | { readonly kind: "text"; readonly input: string; readonly known: Uint8Array; readonly options: TextOptions }
  | { readonly kind: "stored"; readonly input: Uint8Array; readonly known: Uint8Array }
  | { readonly kind: "next" }

/** A reading comes in parts, each after the one before was taken: no message occupies the receiving thread for long. */
export type FromReader =
  | { readonly kind: "news"; readonly part: PlatformDocument }
  | { readonly kind: "declared"; readonly part: Declared }
  | { readonly kind: "read"; readonly reading: Omit<Reading, "news" | "declared"> }
  | { readonly kind: "refused"; readonly issues: ReadonlyArray<CatalogueIssue> }
  | { readonly kind: "failed"; readonly cause: string }

const hasKind = (message: unknown, kinds: ReadonlyArray<unknown>): boolean =>
  Predicate.hasProperty(message, "kind") && kinds.includes(message.kind)

export const isToReader = (message: unknown): message is ToReader => hasKind(message, ["text", "stored", "next"])

export const isFromReader = (message: unknown): message is FromReader =>
  hasKind(message, ["news", "declared", "read", "refused", "failed"])
