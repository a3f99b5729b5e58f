import { choice, message, name, nested, optional, repeated, text, uint } from '../field.ts';
import { method } from './method.ts';

/** Connections into the sandbox (`port`) and out of it (`proxy`). All of them die with the connection. */
const port = (tag: number, about = 'TCP port') => uint(tag, 65535, about, 1);

export const proxyKinds = { http: 1, socks: 2 } as const;

export const listeningPort = message('listening_port', 'one listening socket', {
  port: port(1),
  address: text(2, 64, 'local address, as text'),
  pid: optional(uint(3, 2 ** 31, 'a process that holds it, when it can be told', 1)),
  uid: uint(4, 2 ** 32 - 1, 'its owner'),
});

export const portMethods = {
  'port.connect': method({
    number: 0x0301,
    about: 'a connection to a loopback port or a unix socket; end is shutdown(SHUT_WR) in either direction',
    params: message('port_connect', 'parameters of port.connect', {
      port: optional(port(1, 'TCP port; 127.0.0.1 first, then ::1')),
      path: optional(name(2, 107, 'unix socket, instead of a port', 1)),
      timeoutMs: optional(uint(3, 600_000, '5,000 when absent', 1)),
    }),
    input: true,
    output: 'bytes',
    answer: 'first',
    repeat: 'connection',
    afterLoss: 'the connection inside is closed; whoever used it sees that',
  }),
  'port.list': method({
    number: 0x0302,
    about: 'listening TCP ports, by number',
    params: message('port_list', 'parameters of port.list', {}),
    output: 'records',
    answer: 'last',
    record: message('port_batch', 'record of port.list', {
      ports: repeated(nested(1, listeningPort, 256, 'some of them'), 256),
    }),
    repeat: 'pure',
    afterLoss: 'repeat',
  }),
  'port.wait': method({
    number: 0x0303,
    about: 'answers when somebody listens on the port; timed_out otherwise',
    params: message('port_wait', 'parameters of port.wait', {
      port: port(1),
      timeoutMs: uint(2, 86_400_000, 'how long to wait'),
    }),
    repeat: 'pure',
    afterLoss: 'repeat with the time that is left',
  }),
  'proxy.listen': method({
    number: 0x0401,
    about: 'listens on a loopback port and carries what connects; the listener outlives the connection',
    params: message('proxy_listen', 'parameters of proxy.listen', {
      kind: choice(1, proxyKinds, 'what the clients will speak'),
      port: port(2),
    }),
    repeat: 'idempotent',
    afterLoss: 'repeat; the same kind on the same port is already done',
  }),
  'proxy.connect': method({
    number: 0x0402,
    opener: 'guest',
    about: 'one accepted proxy connection, byte for byte; the server parses, decides, resolves and dials',
    params: message('proxy_connect', 'parameters of proxy.connect', {
      kind: choice(1, proxyKinds, 'which listener took it'),
      uid: optional(uint(2, 2 ** 32 - 1, 'owner of the connecting socket, when it can be told; for the log only')),
    }),
    input: true,
    output: 'bytes',
    answer: 'first',
    repeat: 'connection',
    afterLoss: 'the guest closes the accepted connection; the client inside retries',
  }),
} as const;
