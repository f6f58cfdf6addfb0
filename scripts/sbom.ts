/**
 * `npm run --silent sbom > svc.cdx.json`: prints the software bill of materials of the service, as
 * written by `npm sbom` (CycloneDX), with the parts that are compiled into packages: SQLite, and
 * OpenSSL and others in Node, because most advisories are about them.
 */
import { billOfMaterials } from './supply/bill-of-materials.ts';

process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`);
