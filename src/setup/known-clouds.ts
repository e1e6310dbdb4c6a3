/** The settings for calls to models at a cloud without an API key, from the variables that the cloud's own tools read. */
import type { Vendor } from "../protocol/catalogue/vendor.ts"

/** The fields of a catalogue entry that describe the cloud. */
export type CloudAccess = Pick<Vendor, "aws" | "google" | "azure" | "baseUrl">

type VariableAt = (variable: string) => string | undefined

const given = (variableAt: VariableAt, ...variables: ReadonlyArray<string>): string | undefined =>
  variables.map(variableAt).find((value) => value !== undefined && value !== "")

/** Access keys, or the machine's own identity if a variable names one. */
export const atBedrock = (variableAt: VariableAt): CloudAccess | undefined => {
  const region = given(variableAt, "AWS_REGION", "AWS_DEFAULT_REGION")
  if (region === undefined) return undefined
  if (given(variableAt, "AWS_ACCESS_KEY_ID") !== undefined) {
    return {
      aws: {
        region,
        accessKeyId: "env:AWS_ACCESS_KEY_ID",
        secretAccessKey: "env:AWS_SECRET_ACCESS_KEY",
        ...(given(variableAt, "AWS_SESSION_TOKEN") !== undefined && { sessionToken: "env:AWS_SESSION_TOKEN" }),
      },
    }
  }
  const named = ["AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]
  const names = [...named, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
  return given(variableAt, ...names) === undefined ? undefined : { aws: { region, credentials: "default" } }
}

/** A project, whose identity is in a file or in JSON. */
export const atVertex = (variableAt: VariableAt): CloudAccess | undefined => {
  const project = given(variableAt, "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")
  if (project === undefined) return undefined
  const location = given(variableAt, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION") ?? "global"
  if (given(variableAt, "GOOGLE_CREDENTIALS") !== undefined) {
    return { google: { project, location, credentials: "env:GOOGLE_CREDENTIALS" } }
  }
  return given(variableAt, "GOOGLE_APPLICATION_CREDENTIALS") === undefined
    ? undefined
    : { google: { project, location, credentials: "default" } }
}

/** A resource, and an application of Entra or the machine's own identity. */
export const atAzure = (variableAt: VariableAt): CloudAccess | undefined => {
  const baseUrl = given(variableAt, "AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE")?.replace(/\/+$/, "")
  if (baseUrl === undefined) return undefined
  if (given(variableAt, "AZURE_OPENAI_API_KEY", "AZURE_API_KEY") !== undefined) return { baseUrl }
  const [tenantId, clientId] = [given(variableAt, "AZURE_TENANT_ID"), given(variableAt, "AZURE_CLIENT_ID")]
  if (tenantId === undefined || clientId === undefined) return { baseUrl, azure: { credentials: "default" } }
  return given(variableAt, "AZURE_CLIENT_SECRET") === undefined
    ? { baseUrl, azure: { credentials: "default" } }
    : { baseUrl, azure: { tenantId, clientId, clientSecret: "env:AZURE_CLIENT_SECRET" } }
}
