/** The address of a vendor, if the catalogue leaves it to the region or the location of a cloud. */
import type { Vendor } from "../protocol/catalogue/vendor.ts"

/** Undefined if nothing determines it. */
export const addressOf = ({ baseUrl, aws, google }: Pick<Vendor, "baseUrl" | "aws" | "google">): string | undefined => {
  if (baseUrl !== undefined) return baseUrl
  if (aws !== undefined) {
    // AWS in China has a domain of its own.
    return `https://bedrock-runtime.${aws.region}.amazonaws.com${aws.region.startsWith("cn-") ? ".cn" : ""}`
  }
  if (google === undefined) return undefined
  const { location } = google
  return location === "global" ? "https://aiplatform.googleapis.com" : `https://${location}-aiplatform.googleapis.com`
}
