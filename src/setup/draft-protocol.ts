/** Messages between {@link Drafts} and the thread that does its jobs. */
import { Predicate } from "effect"
import type { CatalogueIssue } from "../catalogue/load.ts"
import type { AddJob, OffersJob, VendorJob } from "./draft-jobs.ts"

export type DraftJob = AddJob | VendorJob | OffersJob

export type DraftAnswer<A> =
  | { readonly outcome: "done"; readonly result: A }
  | { readonly outcome: "refused"; readonly issues: ReadonlyArray<CatalogueIssue> }

export const isDraftJob = (data: unknown): data is DraftJob =>
  Predicate.hasProperty(data, "kind") && ["add", "vendor", "offers"].some((kind) => kind === data.kind)

/** The thread is ours: its answer is of the kind of its job. */
export const isDraftAnswer = <A>(message: unknown): message is DraftAnswer<A> =>
  Predicate.hasProperty(message, "outcome") && (message.outcome === "done" || message.outcome === "refused")
