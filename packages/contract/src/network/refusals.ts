/** Why a connection out of a sandbox was refused: the word of the log, and what a person reads. */
export const egressRefusals = {
  network_off: 'the network of this sandbox is off',
  not_allowed: 'no rule allows it',
  denied: 'a rule denies it',
  private_address: 'it is an address of a private network, of this machine or of its cloud',
  name_invalid: 'its name or address cannot be read',
  name_unknown: 'no address was found for its name',
  host_mismatch: 'the request names another host than the connection',
  sni_mismatch: 'the TLS handshake names another host than the connection',
  sni_hidden: 'the TLS handshake hides the host that it is for',
  request_malformed: 'what was sent is no request that a proxy can read',
  protocol_unsupported: 'the proxy does not do this',
  byte_limit: 'the sandbox has moved as many bytes as it may',
  connection_limit: 'the sandbox has as many connections as it may',
  rate_limit: 'the sandbox opens connections faster than it may',
  rules_changed: 'the rules were changed while it was open',
  unreachable: 'it does not answer',
} as const;

export type EgressRefusal = keyof typeof egressRefusals;
