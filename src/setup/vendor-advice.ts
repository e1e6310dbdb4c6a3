/** The probable reason why a vendor refused its test call: its identity, its region, or its model. */
import type { AttemptError } from "../calls/vendor/errors.ts"
import type { TargetVendor } from "../catalogue/snapshot.ts"
import type { Blame } from "../dialects/vendor/faults.ts"

/** Undefined if there is no advice. */
export const adviceFor = (vendor: TargetVendor, model: string, error: AttemptError | undefined): string | undefined => {
  if (error?._tag !== "VendorRejected") return undefined
  const { status, code, blame, reason } = error
  if (reason !== undefined) return sentence(reason)
  if (code === "credential_missing") return "The catalogue's credential, or a secret of its identity, is not set here."
  const { aws, google, azure, profile, dialect } = vendor
  if (dialect === "bedrock" || profile === "bedrock") return ofAws(aws?.region ?? "this region", model, status, code)
  if (google !== undefined) return ofGoogle(google, model, status)
  if (profile === "azure" || azure !== undefined) return ofAzure(model, status, code)
  return ofBlame(blame, model)
}

const ofAws = (region: string, model: string, status: number, code: string): string | undefined => {
  switch (code) {
    case "ExpiredTokenException":
    case "ExpiredToken":
      return "The keys for a limited time have expired: get new ones, or let the machine's own identity be used (aws.credentials: default)."
    case "UnrecognizedClientException":
    case "InvalidClientTokenId":
      return "AWS does not know the access key, or its session token does not belong to it."
    case "InvalidSignatureException":
    case "SignatureDoesNotMatch":
      return "The secret access key is wrong, or this machine's clock is."
    case "AccessDeniedException":
      return `This identity may not call ${model} in ${region}: allow it bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream, and ask for access to the model in that region.`
    case "ResourceNotFoundException":
      return `${region} has no model ${model}: it may be in another region, or at its end.`
    case "ValidationException":
      return `Bedrock does not take ${model} in ${region} like this: many models need an inference profile there, such as us.${model}.`
    default:
      return status === 401 || status === 403
        ? "AWS refuses the Bedrock API key: it is wrong or has expired."
        : undefined
  }
}

const ofGoogle = (
  { project, location }: NonNullable<TargetVendor["google"]>,
  model: string,
  status: number,
): string | undefined => {
  if (status === 401) return "Google does not accept the token: it has expired, or is for something else."
  if (status === 403) {
    return `This identity may not call models in the project ${project}: give it the role Vertex AI User, and enable the Vertex AI API.`
  }
  return status === 404
    ? `${location} has no model ${model}: it may be in another location, such as global.`
    : undefined
}

const ofAzure = (model: string, status: number, code: string): string | undefined => {
  if (status === 401)
    return "Azure does not accept the key or the token: it may be of another resource or tenant, or have expired."
  if (status === 403) return "This identity may not call the resource: give it the role Cognitive Services OpenAI User."
  return status === 404 || code === "DeploymentNotFound"
    ? `The resource has no deployment named ${model}: a target's model is the name of its deployment.`
    : undefined
}

const ofBlame = (blame: Blame, model: string): string | undefined => {
  switch (blame) {
    case "credential":
      return "The vendor does not accept the key: it is wrong, revoked or expired."
    case "permission":
      return "The vendor knows the key and does not let it call this model."
    case "credit":
      return "The account at the vendor has no credit or no quota left."
    case "model":
      return `The vendor has no model ${model}: it may have another name there, or be at its end.`
    case "region":
      return "The vendor does not serve this region."
    case "address":
      return "The vendor is at another address: correct baseUrl in the catalogue."
    case "request":
    case "filter":
    case "seal":
    case "moment":
      return undefined
  }
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
