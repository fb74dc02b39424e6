/** A CA of a test's own, and a certificate that it has signed. */
import { join } from 'node:path';
import { execa } from 'execa';
import { newDataFolder } from './data-home.ts';

export interface Certificates {
  readonly ca: string;
  readonly key: string;
  readonly certificate: string;
}

const days = ['-days', '1'];

/** @param names of the server, as openssl writes them. @returns paths of files. */
export async function certificates(names: string): Promise<Certificates> {
  const folder = newDataFolder();
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execa('openssl', args, { cwd: folder });
  const newKey = ['-newkey', 'rsa:2048', '-nodes'];
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', ...days],
    ...['-subj', '/CN=the CA of this test'],
  );
  const extensions = [`subjectAltName=${names}`, 'basicConstraints=CA:FALSE'];
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'server.key', '-out', 'server.pem', ...days],
    ...['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', '/CN=a store'],
    ...extensions.flatMap((extension) => ['-addext', extension]),
  );
  return { ca: at('ca.pem'), key: at('server.key'), certificate: at('server.pem') };
}

/** Settings of a Redis that takes TLS only. */
export const redisTls = ({ ca, key, certificate }: Certificates, port: number) => ({
  ...{ port: '0', 'tls-port': String(port), 'tls-auth-clients': 'no' },
  ...{ 'tls-cert-file': certificate, 'tls-key-file': key, 'tls-ca-cert-file': ca },
});
