/**
 * The Go module's messages and methods, made from the .proto files: one Go file for each. They are
 * made by our own code, because the module uses only the standard library, not the protobuf library
 * for Go; it speaks only JSON. The Go code has the comments of the .proto files.
 *
 * int64 is encoded as a string. Fields with presence (optional fields, messages) are pointers, so
 * that "not observed" is nil and never a zero.
 */
import { execFileSync } from 'node:child_process';
import {
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, StructSchema } from '@bufbuild/protobuf/wkt';
import { policy } from '../src/gen/svc/options/v1/policy_pb.ts';

const FOLDER = 'sdk/go';
/** Files with messages and methods that a client needs. */
const FILES = /^svc\/(audit|iam|ingest|monitoring|project)\/v1\//;
/** Messages whose name the module uses for something else: client.go's `Session` is a secret. */
const RENAMED: Readonly<Record<string, string>> = { 'svc.project.v1.Session': 'ListedSession' };

/** Every generated file, with its text. Runs buf, which reads the .proto files. */
export function goFiles(): { readonly path: string; readonly text: string }[] {
  const image = execFileSync('buf', ['build', '--output', '-#format=binpb'], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  return [...registry.files]
    .filter(({ name }) => FILES.test(`${name}.proto`))
    .map((file) => ({ path: pathOf(file), text: fileText(file) }))
    .sort((a, b) => a.path.localeCompare(b.path));
}

function pathOf({ name }: DescFile): string {
  return `${FOLDER}/${name.slice(name.lastIndexOf('/') + 1)}_messages.go`;
}

function fileText(file: DescFile): string {
  const comments = commentsOf(file);
  const methods = file.services.flatMap((service) => service.methods);
  const messages = file.messages.flatMap(withNested);
  const enums = [...file.enums, ...messages.flatMap(({ nestedEnums }) => nestedEnums)];
  const parts = [
    ...methods.map((method) => methodText(method, comments)),
    ...messages.map((message) => messageText(message, comments)),
    ...enums.map((one) => enumText(one, comments)),
    ...methods.flatMap(requestIdText),
  ];
  const imports = methods.length > 0 ? 'import "context"\n\n' : '';
  const head = `// Code generated from ${file.name}.proto by "npm run generate". DO NOT EDIT.\n\n`;
  return `${head}package svc\n\n${imports}${parts.join('\n')}`;
}

function withNested(message: DescMessage): DescMessage[] {
  return [message, ...message.nestedMessages.filter((one) => !isMapEntry(one)).flatMap(withNested)];
}

function isMapEntry({ proto }: DescMessage): boolean {
  return proto.options?.mapEntry === true;
}

function methodText(method: DescMethod, comments: Comments): string {
  const { access, mutation } = getOption(method, policy);
  const facts = [
    `service: "${method.parent.typeName}", name: "${method.name}"`,
    ...(mutation ? ['isMutation: true'] : []),
    ...(access === ACCESS_NONE ? ['isAnonymous: true'] : []),
  ];
  const answer = goName(method.output);
  const more = [
    ...(access === ACCESS_HUMAN ? ['Only for people: with a session, not with a key.'] : []),
    ...(method.methodKind === 'server_streaming' ? [WATCHED] : []),
  ];
  const comment = docComment(method.name, comments.of(method), '', more);
  const facing = `func (c *Client) ${method.name}(ctx context.Context, request *${goName(method.input)}`;
  const described = `method{${facts.join(', ')}}`;
  if (method.methodKind === 'server_streaming') {
    const call = `watch(ctx, c, ${described}, request, take)`;
    return `${comment}${facing}, take func(*${answer}) error) error {\n\treturn ${call}\n}\n`;
  }
  if (method.methodKind !== 'unary') throw new Error(`${method}: has no form in Go yet`);
  const call = `unary[${answer}](ctx, c, ${described}, request)`;
  return `${comment}${facing}) (*${answer}, error) {\n\treturn ${call}\n}\n`;
}

/** Describes the behaviour of watch.go. */
const WATCHED = 'An error of take, or the end of the context, ends it too.';
const ACCESS_NONE = 5;
const ACCESS_HUMAN = 6;

/** The id under which a request may be sent again, if it has one: see retry.go. */
function requestIdText({ input }: DescMethod): string[] {
  const id = input.fields.find(({ name }) => name === 'request_id' || name === 'batch_id');
  if (id === undefined) return [];
  return [`func (r *${goName(input)}) requestID() string { return r.${pascal(id.name)} }\n`];
}

function messageText(message: DescMessage, comments: Comments): string {
  const name = goName(message);
  const comment = docComment(name, comments.of(message), '');
  if (message.fields.length === 0) return `${comment}type ${name} struct{}\n`;
  const fields = message.fields.map((field) => {
    const goField = pascal(field.name);
    const type = goType(field);
    const line = `\t${goField} ${type} \`json:"${field.jsonName}${jsonOptions(field)}"\`\n`;
    return `${docComment('', comments.of(field), '\t')}${line}`;
  });
  // A blank line ends gofmt's alignment, so that each field is formatted as it is written.
  return `${comment}type ${name} struct {\n${fields.join('\n')}}\n`;
}

/**
 * Fields that became optional after a release in which they were plain. A pointer would break
 * programs written for that release, so they stay plain and are always written, even if zero.
 */
const ALWAYS_WRITTEN: ReadonlySet<string> = new Set(['svc.ingest.v1.Value.value']);

function isAlwaysWritten({ parent, name }: DescField): boolean {
  return ALWAYS_WRITTEN.has(`${parent.typeName}.${name}`);
}

function jsonOptions(field: DescField): string {
  if (isAlwaysWritten(field)) return '';
  return isInt64(field) && field.fieldKind === 'scalar' ? ',string,omitempty' : ',omitempty';
}

function isInt64(field: DescField): boolean {
  return field.scalar === ScalarType.INT64;
}

function goType(field: DescField): string {
  if (field.fieldKind === 'map') {
    if (field.mapKind !== 'scalar' || field.scalar !== ScalarType.STRING) throw unknown(field);
    return 'map[string]string';
  }
  if (field.fieldKind === 'list') {
    if (field.listKind === 'message') return `[]${goName(field.message)}`;
    if (field.listKind === 'enum') return `[]${goName(field.enum)}`;
    // A list of int64 would be a list of strings, for which encoding/json has no option.
    if (isInt64(field)) throw unknown(field);
    return `[]${scalar(field)}`;
  }
  if (field.message?.typeName === StructSchema.typeName) return 'map[string]any';
  if (field.fieldKind === 'message') return `*${goName(field.message)}`;
  const type = field.fieldKind === 'enum' ? goName(field.enum) : scalar(field);
  if (isAlwaysWritten(field)) return type;
  return field.proto.proto3Optional || field.oneof ? `*${type}` : type;
}

const SCALARS: Partial<Record<ScalarType, string>> = {
  [ScalarType.STRING]: 'string',
  [ScalarType.BOOL]: 'bool',
  [ScalarType.INT32]: 'int32',
  [ScalarType.INT64]: 'int64',
  [ScalarType.DOUBLE]: 'float64',
};

function scalar(field: DescField): string {
  const type = field.scalar === undefined ? undefined : SCALARS[field.scalar];
  if (type === undefined) throw unknown(field);
  return type;
}

function unknown(field: DescField): Error {
  return new Error(`${field}: this kind of field has no form in Go yet: scripts/go-messages.ts`);
}

function enumText(one: DescEnum, comments: Comments): string {
  const type = goName(one);
  const comment = docComment(type, comments.of(one), '', [], `is one of the ${type} constants.`);
  const values = one.values.map((value) => {
    // The zero is named after its enum: `STATE_UNSPECIFIED`.
    const name = value.number === 0 ? 'Unspecified' : pascal(value.name.toLowerCase());
    const comment = docComment('', comments.of(value), '\t');
    return `${comment}\t${type}${name} ${type} = "${value.name}"\n`;
  });
  return `${comment}type ${type} string\n\n// Values of ${type}.\nconst (\n${values.join('\n')})\n`;
}

/** `Incident.State` is `IncidentState`. */
function goName({ typeName, file }: DescMessage | DescEnum): string {
  const renamed = RENAMED[typeName];
  if (renamed !== undefined) return renamed;
  return typeName.slice(file.proto.package.length + 1).replaceAll('.', '');
}

/** Words that Go writes in capitals. */
const INITIALS: Readonly<Record<string, string>> = {
  id: 'ID',
  ids: 'IDs',
  vm: 'VM',
  vms: 'VMs',
  url: 'URL',
  http: 'HTTP',
  cpu: 'CPU',
  ci: 'CI',
  promql: 'PromQL',
  vcpus: 'VCPUs',
};

function pascal(snake: string): string {
  return snake
    .split('_')
    .map((word) => INITIALS[word] ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/**
 * Comment lines, each terminated. A declaration's comment starts with its name, as is usual in Go.
 */
function docComment(
  name: string,
  text: string,
  indent: string,
  more: readonly string[] = [],
  without = 'is a message of the API.',
): string {
  const first = text === '' ? (name === '' ? '' : `${name} ${without}`) : text;
  const opening = name === '' || text === '' ? first : `${name}: ${lowerFirst(first)}`;
  const lines = [...(opening === '' ? [] : opening.split('\n')), ...more];
  return (
    lines.map((line) => `${indent}// ${line}`.trimEnd()).join('\n') + (lines.length ? '\n' : '')
  );
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

interface Comments {
  of(desc: DescMessage | DescField | DescEnum | DescEnum['values'][number] | DescMethod): string;
}

/** Leading comments by the path that descriptor.proto (SourceCodeInfo.Location) defines. */
function commentsOf(file: DescFile): Comments {
  const locations = file.proto.sourceCodeInfo?.location ?? [];
  const texts = new Map(
    locations.map(({ path, leadingComments }) => [path.join('.'), leadingComments]),
  );
  return {
    of: (desc) =>
      (texts.get(pathTo(desc).join('.')) ?? '')
        .split('\n')
        .map((line) => line.trim())
        .join('\n')
        .trim(),
  };
}

type Commented = Parameters<Comments['of']>[0];

function pathTo(desc: Commented): number[] {
  switch (desc.kind) {
    case 'message':
      return desc.parent
        ? [...pathTo(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)]
        : [4, desc.file.proto.messageType.indexOf(desc.proto)];
    case 'enum':
      return desc.parent
        ? [...pathTo(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)]
        : [5, desc.file.proto.enumType.indexOf(desc.proto)];
    case 'field':
      return [...pathTo(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case 'enum_value':
      return [...pathTo(desc.parent), 2, desc.parent.proto.value.indexOf(desc.proto)];
    case 'rpc': {
      const { parent } = desc;
      const service = parent.file.proto.service.indexOf(parent.proto);
      return [6, service, 2, parent.proto.method.indexOf(desc.proto)];
    }
  }
}
