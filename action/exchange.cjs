// Made by "npm run generate" from src/cli/ci/exchange.ts: do not edit.
"use strict";var __create=Object.create;var __defProp=Object.defineProperty;var __getOwnPropDesc=Object.getOwnPropertyDescriptor;var __getOwnPropNames=Object.getOwnPropertyNames;var __getProtoOf=Object.getPrototypeOf,__hasOwnProp=Object.prototype.hasOwnProperty;var __commonJS=(cb,mod)=>function(){try{return mod||(0,cb[__getOwnPropNames(cb)[0]])((mod={exports:{}}).exports,mod),mod.
exports}catch(e){throw mod=0,e}};var __copyProps=(to,from,except,desc)=>{if(from&&typeof from=="object"||typeof from=="function")for(let key of __getOwnPropNames(
from))!__hasOwnProp.call(to,key)&&key!==except&&__defProp(to,key,{get:()=>from[key],enumerable:!(desc=__getOwnPropDesc(from,
key))||desc.enumerable});return to};var __toESM=(mod,isNodeMode,target)=>(target=mod!=null?__create(__getProtoOf(mod)):{},__copyProps(isNodeMode||!mod||!mod.
__esModule?__defProp(target,"default",{value:mod,enumerable:!0}):target,mod));var require_err_helpers=__commonJS({"node_modules/pino-std-serializers/lib/err-helpers.js"(exports2,module2){"use strict";
var isErrorLike=err=>err&&typeof err.message=="string",getErrorCause=err=>{if(!err)return;let cause=err.cause;if(typeof cause==
"function"){let causeResult=err.cause();return isErrorLike(causeResult)?causeResult:void 0}else return isErrorLike(cause)?
cause:void 0},_stackWithCauses=(err,seen)=>{if(!isErrorLike(err))return"";let stack=err.stack||"";if(seen.has(err))return stack+
`
causes have become circular...`;let cause=getErrorCause(err);return cause?(seen.add(err),stack+`
caused by: `+_stackWithCauses(cause,seen)):stack},stackWithCauses=err=>_stackWithCauses(err,new Set),_messageWithCauses=(err,seen,skip)=>{
if(!isErrorLike(err))return"";let message=skip?"":err.message||"";if(seen.has(err))return message+": ...";let cause=getErrorCause(
err);if(cause){seen.add(err);let skipIfVErrorStyleCause=typeof err.cause=="function";return message+(skipIfVErrorStyleCause?
"":": ")+_messageWithCauses(cause,seen,skipIfVErrorStyleCause)}else return message},messageWithCauses=err=>_messageWithCauses(
err,new Set);module2.exports={isErrorLike,getErrorCause,stackWithCauses,messageWithCauses}}});var require_err_proto=__commonJS({"node_modules/pino-std-serializers/lib/err-proto.js"(exports2,module2){"use strict";var seen=Symbol(
"circular-ref-tag"),rawSymbol=Symbol("pino-raw-err-ref"),pinoErrProto=Object.create({},{type:{enumerable:!0,writable:!0,
value:void 0},message:{enumerable:!0,writable:!0,value:void 0},stack:{enumerable:!0,writable:!0,value:void 0},aggregateErrors:{
enumerable:!0,writable:!0,value:void 0},raw:{enumerable:!1,get:function(){return this[rawSymbol]},set:function(val){this[rawSymbol]=
val}}});Object.defineProperty(pinoErrProto,rawSymbol,{writable:!0,value:{}});module2.exports={pinoErrProto,pinoErrorSymbols:{
seen,rawSymbol}}}});var require_err=__commonJS({"node_modules/pino-std-serializers/lib/err.js"(exports2,module2){"use strict";module2.exports=
errSerializer;var{messageWithCauses,stackWithCauses,isErrorLike}=require_err_helpers(),{pinoErrProto,pinoErrorSymbols}=require_err_proto(),
{seen}=pinoErrorSymbols,{toString}=Object.prototype;function errSerializer(err){if(!isErrorLike(err))return err;err[seen]=
void 0;let _err=Object.create(pinoErrProto);_err.type=toString.call(err.constructor)==="[object Function]"?err.constructor.
name:err.name,_err.message=messageWithCauses(err),_err.stack=stackWithCauses(err),Array.isArray(err.errors)&&(_err.aggregateErrors=
err.errors.map(err2=>errSerializer(err2)));for(let key in err)if(_err[key]===void 0){let val=err[key];isErrorLike(val)?key!==
"cause"&&!Object.prototype.hasOwnProperty.call(val,seen)&&(_err[key]=errSerializer(val)):_err[key]=val}return delete err[seen],
_err.raw=err,_err}}});var require_err_with_cause=__commonJS({"node_modules/pino-std-serializers/lib/err-with-cause.js"(exports2,module2){"use \
strict";module2.exports=errWithCauseSerializer;var{isErrorLike}=require_err_helpers(),{pinoErrProto,pinoErrorSymbols}=require_err_proto(),
{seen}=pinoErrorSymbols,{toString}=Object.prototype;function errWithCauseSerializer(err){if(!isErrorLike(err))return err;
err[seen]=void 0;let _err=Object.create(pinoErrProto);_err.type=toString.call(err.constructor)==="[object Function]"?err.
constructor.name:err.name,_err.message=err.message,_err.stack=err.stack,Array.isArray(err.errors)&&(_err.aggregateErrors=
err.errors.map(err2=>errWithCauseSerializer(err2))),isErrorLike(err.cause)&&!Object.prototype.hasOwnProperty.call(err.cause,
seen)&&(_err.cause=errWithCauseSerializer(err.cause));for(let key in err)if(_err[key]===void 0){let val=err[key];isErrorLike(
val)?Object.prototype.hasOwnProperty.call(val,seen)||(_err[key]=errWithCauseSerializer(val)):_err[key]=val}return delete err[seen],
_err.raw=err,_err}}});var require_req=__commonJS({"node_modules/pino-std-serializers/lib/req.js"(exports2,module2){"use strict";module2.exports=
{mapHttpRequest,reqSerializer};var rawSymbol=Symbol("pino-raw-req-ref"),pinoReqProto=Object.create({},{id:{enumerable:!0,
writable:!0,value:""},method:{enumerable:!0,writable:!0,value:""},url:{enumerable:!0,writable:!0,value:""},query:{enumerable:!0,
writable:!0,value:""},params:{enumerable:!0,writable:!0,value:""},headers:{enumerable:!0,writable:!0,value:{}},remoteAddress:{
enumerable:!0,writable:!0,value:""},remotePort:{enumerable:!0,writable:!0,value:""},raw:{enumerable:!1,get:function(){return this[rawSymbol]},
set:function(val){this[rawSymbol]=val}}});Object.defineProperty(pinoReqProto,rawSymbol,{writable:!0,value:{}});function reqSerializer(req){
let connection=req.info||req.socket,_req=Object.create(pinoReqProto);if(_req.id=typeof req.id=="function"?req.id():req.id||
(req.info?req.info.id:void 0),_req.method=req.method,req.originalUrl)_req.url=req.originalUrl;else{let path=req.path;_req.
url=typeof path=="string"?path:req.url?req.url.path||req.url:void 0}return req.query&&(_req.query=req.query),req.params&&
(_req.params=req.params),_req.headers=req.headers,_req.remoteAddress=connection&&connection.remoteAddress,_req.remotePort=
connection&&connection.remotePort,_req.raw=req.raw||req,_req}function mapHttpRequest(req){return{req:reqSerializer(req)}}}});var require_res=__commonJS({"node_modules/pino-std-serializers/lib/res.js"(exports2,module2){"use strict";module2.exports=
{mapHttpResponse,resSerializer};var rawSymbol=Symbol("pino-raw-res-ref"),pinoResProto=Object.create({},{statusCode:{enumerable:!0,
writable:!0,value:0},headers:{enumerable:!0,writable:!0,value:""},raw:{enumerable:!1,get:function(){return this[rawSymbol]},
set:function(val){this[rawSymbol]=val}}});Object.defineProperty(pinoResProto,rawSymbol,{writable:!0,value:{}});function resSerializer(res){
let _res=Object.create(pinoResProto);return _res.statusCode=res.headersSent?res.statusCode:null,_res.headers=res.getHeaders?
res.getHeaders():res._headers,_res.raw=res,_res}function mapHttpResponse(res){return{res:resSerializer(res)}}}});var require_pino_std_serializers=__commonJS({"node_modules/pino-std-serializers/index.js"(exports2,module2){"use strict";
var errSerializer=require_err(),errWithCauseSerializer=require_err_with_cause(),reqSerializers=require_req(),resSerializers=require_res();
module2.exports={err:errSerializer,errWithCause:errWithCauseSerializer,mapHttpRequest:reqSerializers.mapHttpRequest,mapHttpResponse:resSerializers.
mapHttpResponse,req:reqSerializers.reqSerializer,res:resSerializers.resSerializer,wrapErrorSerializer:function(customSerializer){
return customSerializer===errSerializer?customSerializer:function(err){return customSerializer(errSerializer(err))}},wrapRequestSerializer:function(customSerializer){
return customSerializer===reqSerializers.reqSerializer?customSerializer:function(req){return customSerializer(reqSerializers.
reqSerializer(req))}},wrapResponseSerializer:function(customSerializer){return customSerializer===resSerializers.resSerializer?
customSerializer:function(res){return customSerializer(resSerializers.resSerializer(res))}}}}});var require_caller=__commonJS({"node_modules/pino/lib/caller.js"(exports2,module2){"use strict";var util=require("node:util"),
getCallSites=util.getCallSites??util.getCallSite;function noOpPrepareStackTrace(_,stack){return stack}module2.exports=function(){
if(getCallSites)return getCallSites().slice(2).map(callSite=>callSite.scriptName);let originalPrepare=Error.prepareStackTrace;
Error.prepareStackTrace=noOpPrepareStackTrace;let stack=new Error().stack;if(Error.prepareStackTrace=originalPrepare,!Array.
isArray(stack))return;let entries=stack.slice(2),fileNames=[];for(let entry of entries)entry&&fileNames.push(entry.getFileName());
return fileNames}}});var require_redact=__commonJS({"node_modules/@pinojs/redact/index.js"(exports2,module2){"use strict";function deepClone(obj){
if(obj===null||typeof obj!="object")return obj;if(obj instanceof Date)return new Date(obj.getTime());if(obj instanceof Array){
let cloned=[];for(let i=0;i<obj.length;i++)cloned[i]=deepClone(obj[i]);return cloned}if(typeof obj=="object"){let cloned=Object.
create(Object.getPrototypeOf(obj));for(let key in obj)Object.prototype.hasOwnProperty.call(obj,key)&&(cloned[key]=deepClone(
obj[key]));return cloned}return obj}function parsePath(path){let parts=[],current="",inBrackets=!1,inQuotes=!1,quoteChar="";
for(let i=0;i<path.length;i++){let char=path[i];!inBrackets&&char==="."?current&&(parts.push(current),current=""):char===
"["?(current&&(parts.push(current),current=""),inBrackets=!0):char==="]"&&inBrackets?(parts.push(current),current="",inBrackets=
!1,inQuotes=!1):(char==='"'||char==="'")&&inBrackets?inQuotes?char===quoteChar?(inQuotes=!1,quoteChar=""):current+=char:
(inQuotes=!0,quoteChar=char):current+=char}return current&&parts.push(current),parts}function setValue(obj,parts,value){
let current=obj;for(let i=0;i<parts.length-1;i++){let key=parts[i];if(typeof current!="object"||current===null||!(key in
current)||typeof current[key]!="object"||current[key]===null)return!1;current=current[key]}let lastKey=parts[parts.length-
1];if(lastKey==="*"){if(Array.isArray(current))for(let i=0;i<current.length;i++)current[i]=value;else if(typeof current==
"object"&&current!==null)for(let key in current)Object.prototype.hasOwnProperty.call(current,key)&&(current[key]=value)}else
typeof current=="object"&&current!==null&&lastKey in current&&Object.prototype.hasOwnProperty.call(current,lastKey)&&(current[lastKey]=
value);return!0}function removeKey(obj,parts){let current=obj;for(let i=0;i<parts.length-1;i++){let key=parts[i];if(typeof current!=
"object"||current===null||!(key in current)||typeof current[key]!="object"||current[key]===null)return!1;current=current[key]}
let lastKey=parts[parts.length-1];if(lastKey==="*"){if(Array.isArray(current))for(let i=0;i<current.length;i++)current[i]=
void 0;else if(typeof current=="object"&&current!==null)for(let key in current)Object.prototype.hasOwnProperty.call(current,
key)&&delete current[key]}else typeof current=="object"&&current!==null&&lastKey in current&&Object.prototype.hasOwnProperty.
call(current,lastKey)&&delete current[lastKey];return!0}var PATH_NOT_FOUND=Symbol("PATH_NOT_FOUND");function getValueIfExists(obj,parts){
let current=obj;for(let part of parts){if(current==null||typeof current!="object"||current===null||!(part in current))return PATH_NOT_FOUND;
current=current[part]}return current}function getValue(obj,parts){let current=obj;for(let part of parts){if(current==null||
typeof current!="object"||current===null)return;current=current[part]}return current}function redactPaths(obj,paths,censor,remove=!1){
for(let path of paths){let parts=parsePath(path);if(parts.includes("*"))redactWildcardPath(obj,parts,censor,path,remove);else if(remove)
removeKey(obj,parts);else{let value=getValueIfExists(obj,parts);if(value===PATH_NOT_FOUND)continue;let actualCensor=typeof censor==
"function"?censor(value,parts):censor;setValue(obj,parts,actualCensor)}}}function redactWildcardPath(obj,parts,censor,originalPath,remove=!1){
let wildcardIndex=parts.indexOf("*");if(wildcardIndex===parts.length-1){let parentParts=parts.slice(0,-1),current=obj;for(let part of parentParts){
if(current==null||typeof current!="object"||current===null)return;current=current[part]}if(Array.isArray(current))if(remove)
for(let i=0;i<current.length;i++)current[i]=void 0;else for(let i=0;i<current.length;i++){let indexPath=[...parentParts,
i.toString()],actualCensor=typeof censor=="function"?censor(current[i],indexPath):censor;current[i]=actualCensor}else if(typeof current==
"object"&&current!==null)if(remove){let keysToDelete=[];for(let key in current)Object.prototype.hasOwnProperty.call(current,
key)&&keysToDelete.push(key);for(let key of keysToDelete)delete current[key]}else for(let key in current){let keyPath=[...parentParts,
key],actualCensor=typeof censor=="function"?censor(current[key],keyPath):censor;current[key]=actualCensor}}else redactIntermediateWildcard(
obj,parts,censor,wildcardIndex,originalPath,remove)}function redactIntermediateWildcard(obj,parts,censor,wildcardIndex,originalPath,remove=!1){
let beforeWildcard=parts.slice(0,wildcardIndex),afterWildcard=parts.slice(wildcardIndex+1),pathArray=[];function traverse(current,pathLength){
if(pathLength===beforeWildcard.length){if(Array.isArray(current))for(let i=0;i<current.length;i++)pathArray[pathLength]=
i.toString(),traverse(current[i],pathLength+1);else if(typeof current=="object"&&current!==null)for(let key in current)pathArray[pathLength]=
key,traverse(current[key],pathLength+1)}else if(pathLength<beforeWildcard.length){let nextKey=beforeWildcard[pathLength];
current&&typeof current=="object"&&current!==null&&nextKey in current&&(pathArray[pathLength]=nextKey,traverse(current[nextKey],
pathLength+1))}else if(afterWildcard.includes("*"))redactWildcardPath(current,afterWildcard,typeof censor=="function"?(value,path)=>{
let fullPath=[...pathArray.slice(0,pathLength),...path];return censor(value,fullPath)}:censor,originalPath,remove);else if(remove)
removeKey(current,afterWildcard);else{let actualCensor=typeof censor=="function"?censor(getValue(current,afterWildcard),
[...pathArray.slice(0,pathLength),...afterWildcard]):censor;setValue(current,afterWildcard,actualCensor)}}if(beforeWildcard.
length===0)traverse(obj,0);else{let current=obj;for(let i=0;i<beforeWildcard.length;i++){let part=beforeWildcard[i];if(current==
null||typeof current!="object"||current===null)return;current=current[part],pathArray[i]=part}current!=null&&traverse(current,
beforeWildcard.length)}}function buildPathStructure(pathsToClone){if(pathsToClone.length===0)return null;let pathStructure=new Map;
for(let path of pathsToClone){let parts=parsePath(path),current=pathStructure;for(let i=0;i<parts.length;i++){let part=parts[i];
current.has(part)||current.set(part,new Map),current=current.get(part)}}return pathStructure}function selectiveClone(obj,pathStructure){
if(!pathStructure)return obj;function cloneSelectively(source,pathMap,depth=0){if(!pathMap||pathMap.size===0||source===null||
typeof source!="object")return source;if(source instanceof Date)return new Date(source.getTime());if(Array.isArray(source)){
let cloned2=[];for(let i=0;i<source.length;i++){let indexStr=i.toString();pathMap.has(indexStr)||pathMap.has("*")?cloned2[i]=
cloneSelectively(source[i],pathMap.get(indexStr)||pathMap.get("*")):cloned2[i]=source[i]}return cloned2}let cloned=Object.
create(Object.getPrototypeOf(source));for(let key in source)Object.prototype.hasOwnProperty.call(source,key)&&(pathMap.has(
key)||pathMap.has("*")?cloned[key]=cloneSelectively(source[key],pathMap.get(key)||pathMap.get("*")):cloned[key]=source[key]);
return cloned}return cloneSelectively(obj,pathStructure)}function validatePath(path){if(typeof path!="string")throw new Error(
"Paths must be (non-empty) strings");if(path==="")throw new Error("Invalid redaction path ()");if(path.includes(".."))throw new Error(
`Invalid redaction path (${path})`);if(path.includes(","))throw new Error(`Invalid redaction path (${path})`);let bracketCount=0,
inQuotes=!1,quoteChar="";for(let i=0;i<path.length;i++){let char=path[i];if((char==='"'||char==="'")&&bracketCount>0)inQuotes?
char===quoteChar&&(inQuotes=!1,quoteChar=""):(inQuotes=!0,quoteChar=char);else if(char==="["&&!inQuotes)bracketCount++;else if(char===
"]"&&!inQuotes&&(bracketCount--,bracketCount<0))throw new Error(`Invalid redaction path (${path})`)}if(bracketCount!==0)
throw new Error(`Invalid redaction path (${path})`)}function validatePaths(paths){if(!Array.isArray(paths))throw new TypeError(
"paths must be an array");for(let path of paths)validatePath(path)}function slowRedact(options={}){let{paths=[],censor="\
[REDACTED]",serialize=JSON.stringify,strict=!0,remove=!1}=options;validatePaths(paths);let pathStructure=buildPathStructure(
paths);return function(obj){if(strict&&(obj===null||typeof obj!="object")&&(obj==null||typeof obj!="object"))return serialize?
serialize(obj):obj;let cloned=selectiveClone(obj,pathStructure),original=obj,actualCensor=censor;return typeof censor=="\
function"&&(actualCensor=censor),redactPaths(cloned,paths,actualCensor,remove),serialize===!1?(cloned.restore=function(){
return deepClone(original)},cloned):typeof serialize=="function"?serialize(cloned):JSON.stringify(cloned)}}module2.exports=
slowRedact}});var require_symbols=__commonJS({"node_modules/pino/lib/symbols.js"(exports2,module2){"use strict";var setLevelSym=Symbol(
"pino.setLevel"),getLevelSym=Symbol("pino.getLevel"),levelValSym=Symbol("pino.levelVal"),levelCompSym=Symbol("pino.level\
Comp"),useLevelLabelsSym=Symbol("pino.useLevelLabels"),useOnlyCustomLevelsSym=Symbol("pino.useOnlyCustomLevels"),mixinSym=Symbol(
"pino.mixin"),lsCacheSym=Symbol("pino.lsCache"),chindingsSym=Symbol("pino.chindings"),asJsonSym=Symbol("pino.asJson"),writeSym=Symbol(
"pino.write"),redactFmtSym=Symbol("pino.redactFmt"),timeSym=Symbol("pino.time"),timeSliceIndexSym=Symbol("pino.timeSlice\
Index"),streamSym=Symbol("pino.stream"),stringifySym=Symbol("pino.stringify"),stringifySafeSym=Symbol("pino.stringifySaf\
e"),stringifiersSym=Symbol("pino.stringifiers"),endSym=Symbol("pino.end"),formatOptsSym=Symbol("pino.formatOpts"),messageKeySym=Symbol(
"pino.messageKey"),errorKeySym=Symbol("pino.errorKey"),nestedKeySym=Symbol("pino.nestedKey"),nestedKeyStrSym=Symbol("pin\
o.nestedKeyStr"),mixinMergeStrategySym=Symbol("pino.mixinMergeStrategy"),msgPrefixSym=Symbol("pino.msgPrefix"),wildcardFirstSym=Symbol(
"pino.wildcardFirst"),serializersSym=Symbol.for("pino.serializers"),formattersSym=Symbol.for("pino.formatters"),hooksSym=Symbol.
for("pino.hooks"),needsMetadataGsym=Symbol.for("pino.metadata"),transportUsesMultistreamSym=Symbol.for("pino.transport.u\
sesMultistream");module2.exports={setLevelSym,getLevelSym,levelValSym,levelCompSym,useLevelLabelsSym,mixinSym,lsCacheSym,
chindingsSym,asJsonSym,writeSym,serializersSym,redactFmtSym,timeSym,timeSliceIndexSym,streamSym,stringifySym,stringifySafeSym,
stringifiersSym,endSym,formatOptsSym,messageKeySym,errorKeySym,nestedKeySym,wildcardFirstSym,needsMetadataGsym,useOnlyCustomLevelsSym,
formattersSym,hooksSym,nestedKeyStrSym,mixinMergeStrategySym,msgPrefixSym,transportUsesMultistreamSym}}});var require_redaction=__commonJS({"node_modules/pino/lib/redaction.js"(exports2,module2){"use strict";var Redact=require_redact(),
{redactFmtSym,wildcardFirstSym}=require_symbols(),rx=/[^.[\]]+|\[([^[\]]*?)\]/g,CENSOR="[Redacted]",strict=!1;function redaction(opts,serialize){
let{paths,censor,remove}=handle(opts),shape=paths.reduce((o,str)=>{rx.lastIndex=0;let first=rx.exec(str),next=rx.exec(str),
ns=first[1]!==void 0?first[1].replace(/^(?:"|'|`)(.*)(?:"|'|`)$/,"$1"):first[0];if(ns==="*"&&(ns=wildcardFirstSym),next===
null)return o[ns]=null,o;if(o[ns]===null)return o;let{index}=next,nextPath=`${str.substr(index,str.length-1)}`;return o[ns]=
o[ns]||[],ns!==wildcardFirstSym&&o[ns].length===0&&o[ns].push(...o[wildcardFirstSym]||[]),ns===wildcardFirstSym&&Object.
keys(o).forEach(function(k){o[k]&&o[k].push(nextPath)}),o[ns].push(nextPath),o},Object.create(null)),result=Object.assign(
Object.create(null),{[redactFmtSym]:Redact({paths,censor,serialize,strict,remove})}),topCensor=(...args)=>serialize(typeof censor==
"function"?censor(...args):censor);return[...Object.keys(shape),...Object.getOwnPropertySymbols(shape)].reduce((o,k)=>{if(shape[k]===
null)o[k]=value=>topCensor(value,[k]);else{let wrappedCensor=typeof censor=="function"?(value,path)=>censor(value,[k,...path]):
censor;o[k]=Redact({paths:shape[k],censor:wrappedCensor,serialize,strict,remove})}return o},result)}function handle(opts){
if(Array.isArray(opts))return opts={paths:opts,censor:CENSOR},opts;let{paths,censor=CENSOR,remove}=opts;if(Array.isArray(
paths)===!1)throw Error("pino – redact must contain an array of strings");return remove===!0&&(censor=void 0),{paths,censor,
remove}}module2.exports=redaction}});var require_time=__commonJS({"node_modules/pino/lib/time.js"(exports2,module2){"use strict";var nullTime=()=>"",epochTime=()=>`\
,"time":${Date.now()}`,unixTime2=()=>`,"time":${Math.round(Date.now()/1e3)}`,isoTime=()=>`,"time":"${new Date(Date.now()).
toISOString()}"`,NS_PER_MS=1000000n,NS_PER_SEC=1000000000n,startWallTimeNs=BigInt(Date.now())*NS_PER_MS,startHrTime=process.
hrtime.bigint(),isoTimeNano=()=>{let elapsedNs=process.hrtime.bigint()-startHrTime,currentTimeNs=startWallTimeNs+elapsedNs,
secondsSinceEpoch=currentTimeNs/NS_PER_SEC,nanosWithinSecond=currentTimeNs%NS_PER_SEC,msSinceEpoch=Number(secondsSinceEpoch*
1000n+nanosWithinSecond/1000000n),date=new Date(msSinceEpoch),year=date.getUTCFullYear(),month=(date.getUTCMonth()+1).toString().
padStart(2,"0"),day=date.getUTCDate().toString().padStart(2,"0"),hours=date.getUTCHours().toString().padStart(2,"0"),minutes=date.
getUTCMinutes().toString().padStart(2,"0"),seconds=date.getUTCSeconds().toString().padStart(2,"0");return`,"time":"${year}\
-${month}-${day}T${hours}:${minutes}:${seconds}.${nanosWithinSecond.toString().padStart(9,"0")}Z"`};module2.exports={nullTime,
epochTime,unixTime:unixTime2,isoTime,isoTimeNano}}});var require_quick_format_unescaped=__commonJS({"node_modules/quick-format-unescaped/index.js"(exports2,module2){"use str\
ict";function tryStringify(o){try{return JSON.stringify(o)}catch{return'"[Circular]"'}}module2.exports=format;function format(f,args,opts){
var ss=opts&&opts.stringify||tryStringify,offset=1;if(typeof f=="object"&&f!==null){var len=args.length+offset;if(len===
1)return f;var objects=new Array(len);objects[0]=ss(f);for(var index=1;index<len;index++)objects[index]=ss(args[index]);
return objects.join(" ")}if(typeof f!="string")return f;var argLen=args.length;if(argLen===0)return f;for(var str="",a=1-
offset,lastPos=-1,flen=f&&f.length||0,i=0;i<flen;){if(f.charCodeAt(i)===37&&i+1<flen){switch(lastPos=lastPos>-1?lastPos:
0,f.charCodeAt(i+1)){case 100:case 102:if(a>=argLen||args[a]==null)break;lastPos<i&&(str+=f.slice(lastPos,i)),str+=Number(
args[a]),lastPos=i+2,i++;break;case 105:if(a>=argLen||args[a]==null)break;lastPos<i&&(str+=f.slice(lastPos,i)),str+=Math.
floor(Number(args[a])),lastPos=i+2,i++;break;case 79:case 111:case 106:if(a>=argLen||args[a]===void 0)break;lastPos<i&&(str+=
f.slice(lastPos,i));var type=typeof args[a];if(type==="string"){str+="'"+args[a]+"'",lastPos=i+2,i++;break}if(type==="fu\
nction"){str+=args[a].name||"<anonymous>",lastPos=i+2,i++;break}str+=ss(args[a]),lastPos=i+2,i++;break;case 115:if(a>=argLen)
break;lastPos<i&&(str+=f.slice(lastPos,i)),str+=String(args[a]),lastPos=i+2,i++;break;case 37:lastPos<i&&(str+=f.slice(lastPos,
i)),str+="%",lastPos=i+2,i++,a--;break}++a}++i}return lastPos===-1?f:(lastPos<flen&&(str+=f.slice(lastPos)),str)}}});var require_atomic_sleep=__commonJS({"node_modules/atomic-sleep/index.js"(exports2,module2){"use strict";if(typeof SharedArrayBuffer<
"u"&&typeof Atomics<"u"){let sleep=function(ms){if((ms>0&&ms<1/0)===!1)throw typeof ms!="number"&&typeof ms!="bigint"?TypeError(
"sleep: ms must be a number"):RangeError("sleep: ms must be a number that is greater than 0 but less than Infinity");Atomics.
wait(nil,0,0,Number(ms))},nil=new Int32Array(new SharedArrayBuffer(4));module2.exports=sleep}else{let sleep=function(ms){
if((ms>0&&ms<1/0)===!1)throw typeof ms!="number"&&typeof ms!="bigint"?TypeError("sleep: ms must be a number"):RangeError(
"sleep: ms must be a number that is greater than 0 but less than Infinity");let target=Date.now()+Number(ms);for(;target>
Date.now(););};module2.exports=sleep}}});var require_sonic_boom=__commonJS({"node_modules/sonic-boom/index.js"(exports2,module2){"use strict";var fs=require("fs"),
EventEmitter=require("events"),inherits=require("util").inherits,path=require("path"),sleep=require_atomic_sleep(),assert2=require("assert"),
BUSY_WRITE_TIMEOUT=100,kEmptyBuffer=Buffer.allocUnsafe(0),MAX_WRITE=16*1024,kContentModeBuffer="buffer",kContentModeUtf8="\
utf8",[major,minor]=(process.versions.node||"0.0").split(".").map(Number),kCopyBuffer=major>=22&&minor>=7;function openFile(file,sonic){
sonic._opening=!0,sonic._writing=!0,sonic._asyncDrainScheduled=!1;function fileOpened(err,fd){if(err){sonic._reopening=!1,
sonic._writing=!1,sonic._opening=!1,sonic.sync?process.nextTick(()=>{sonic.listenerCount("error")>0&&sonic.emit("error",
err)}):sonic.emit("error",err);return}let reopening=sonic._reopening;sonic.fd=fd,sonic.file=file,sonic._reopening=!1,sonic.
_opening=!1,sonic._writing=!1,sonic.sync?process.nextTick(()=>sonic.emit("ready")):sonic.emit("ready"),!sonic.destroyed&&
(!sonic._writing&&sonic._len>sonic.minLength||sonic._flushPending?sonic._actualWrite():reopening&&process.nextTick(()=>sonic.
emit("drain")))}let flags=sonic.append?"a":"w",mode=sonic.mode;if(sonic.sync)try{sonic.mkdir&&fs.mkdirSync(path.dirname(
file),{recursive:!0});let fd=fs.openSync(file,flags,mode);fileOpened(null,fd)}catch(err){throw fileOpened(err),err}else sonic.
mkdir?fs.mkdir(path.dirname(file),{recursive:!0},err=>{if(err)return fileOpened(err);fs.open(file,flags,mode,fileOpened)}):
fs.open(file,flags,mode,fileOpened)}function SonicBoom(opts){if(!(this instanceof SonicBoom))return new SonicBoom(opts);
let{fd,dest,minLength,maxLength,maxWrite,periodicFlush,sync,append=!0,mkdir,retryEAGAIN,fsync,contentMode,mode}=opts||{};
fd=fd||dest,this._len=0,this.fd=-1,this._bufs=[],this._lens=[],this._writing=!1,this._ending=!1,this._reopening=!1,this.
_asyncDrainScheduled=!1,this._flushPending=!1,this._hwm=Math.max(minLength||0,16387),this.file=null,this.destroyed=!1,this.
minLength=minLength||0,this.maxLength=maxLength||0,this.maxWrite=maxWrite||MAX_WRITE,this._periodicFlush=periodicFlush||
0,this._periodicFlushTimer=void 0,this.sync=sync||!1,this.writable=!0,this._fsync=fsync||!1,this.append=append||!1,this.
mode=mode,this.retryEAGAIN=retryEAGAIN||(()=>!0),this.mkdir=mkdir||!1;let fsWriteSync,fsWrite;if(contentMode===kContentModeBuffer)
this._writingBuf=kEmptyBuffer,this.write=writeBuffer,this.flush=flushBuffer,this.flushSync=flushBufferSync,this._actualWrite=
actualWriteBuffer,fsWriteSync=()=>fs.writeSync(this.fd,this._writingBuf),fsWrite=()=>fs.write(this.fd,this._writingBuf,this.
release);else if(contentMode===void 0||contentMode===kContentModeUtf8)this._writingBuf="",this.write=write,this.flush=flush,
this.flushSync=flushSync,this._actualWrite=actualWrite,fsWriteSync=()=>Buffer.isBuffer(this._writingBuf)?fs.writeSync(this.
fd,this._writingBuf):fs.writeSync(this.fd,this._writingBuf,"utf8"),fsWrite=()=>Buffer.isBuffer(this._writingBuf)?fs.write(
this.fd,this._writingBuf,this.release):fs.write(this.fd,this._writingBuf,"utf8",this.release);else throw new Error(`Soni\
cBoom supports "${kContentModeUtf8}" and "${kContentModeBuffer}", but passed ${contentMode}`);if(typeof fd=="number")this.
fd=fd,process.nextTick(()=>this.emit("ready"));else if(typeof fd=="string")openFile(fd,this);else throw new Error("Sonic\
Boom supports only file descriptors and files");if(this.minLength>=this.maxWrite)throw new Error(`minLength should be sm\
aller than maxWrite (${this.maxWrite})`);this.release=(err,n)=>{if(err){if((err.code==="EAGAIN"||err.code==="EBUSY")&&this.
retryEAGAIN(err,this._writingBuf.length,this._len-this._writingBuf.length))if(this.sync)try{sleep(BUSY_WRITE_TIMEOUT),this.
release(void 0,0)}catch(err2){this.release(err2)}else setTimeout(fsWrite,BUSY_WRITE_TIMEOUT);else this._writing=!1,this.
emit("error",err);return}this.emit("write",n);let releasedBufObj=releaseWritingBuf(this._writingBuf,this._len,n);if(this.
_len=releasedBufObj.len,this._writingBuf=releasedBufObj.writingBuf,this._writingBuf.length){if(!this.sync){fsWrite();return}
try{do{let n2=fsWriteSync(),releasedBufObj2=releaseWritingBuf(this._writingBuf,this._len,n2);this._len=releasedBufObj2.len,
this._writingBuf=releasedBufObj2.writingBuf}while(this._writingBuf.length)}catch(err2){this.release(err2);return}}this._fsync&&
fs.fsyncSync(this.fd);let len=this._len;this._reopening?(this._writing=!1,this._reopening=!1,this.reopen()):len>this.minLength?
this._actualWrite():this._ending?len>0?this._actualWrite():(this._writing=!1,actualClose(this)):(this._writing=!1,this.sync?
this._asyncDrainScheduled||(this._asyncDrainScheduled=!0,process.nextTick(emitDrain,this)):this.emit("drain"))},this.on(
"newListener",function(name){name==="drain"&&(this._asyncDrainScheduled=!1)}),this._periodicFlush!==0&&(this._periodicFlushTimer=
setInterval(()=>this.flush(null),this._periodicFlush),this._periodicFlushTimer.unref())}function releaseWritingBuf(writingBuf,len,n){
return typeof writingBuf=="string"&&(writingBuf=Buffer.from(writingBuf)),len=Math.max(len-n,0),writingBuf=writingBuf.subarray(
n),{writingBuf,len}}function emitDrain(sonic){sonic.listenerCount("drain")>0&&(sonic._asyncDrainScheduled=!1,sonic.emit(
"drain"))}inherits(SonicBoom,EventEmitter);function mergeBuf(bufs,len){return bufs.length===0?kEmptyBuffer:bufs.length===
1?bufs[0]:Buffer.concat(bufs,len)}function write(data){if(this.destroyed)throw new Error("SonicBoom destroyed");data=""+
data;let dataLen=Buffer.byteLength(data),len=this._len+dataLen,bufs=this._bufs;return this.maxLength&&len>this.maxLength?
(this.emit("drop",data),this._len<this._hwm):(bufs.length===0||Buffer.byteLength(bufs[bufs.length-1])+dataLen>this.maxWrite?
bufs.push(data):bufs[bufs.length-1]+=data,this._len=len,!this._writing&&this._len>=this.minLength&&this._actualWrite(),this.
_len<this._hwm)}function writeBuffer(data){if(this.destroyed)throw new Error("SonicBoom destroyed");let len=this._len+data.
length,bufs=this._bufs,lens=this._lens;return this.maxLength&&len>this.maxLength?(this.emit("drop",data),this._len<this.
_hwm):(bufs.length===0||lens[lens.length-1]+data.length>this.maxWrite?(bufs.push([data]),lens.push(data.length)):(bufs[bufs.
length-1].push(data),lens[lens.length-1]+=data.length),this._len=len,!this._writing&&this._len>=this.minLength&&this._actualWrite(),
this._len<this._hwm)}function callFlushCallbackOnDrain(cb){this._flushPending=!0;let onDrain=()=>{if(this._fsync)this._flushPending=
!1,cb();else try{fs.fsync(this.fd,err=>{this._flushPending=!1,cb(err)})}catch(err){cb(err)}this.off("error",onError)},onError=err=>{
this._flushPending=!1,cb(err),this.off("drain",onDrain)};this.once("drain",onDrain),this.once("error",onError)}function flush(cb){
if(cb!=null&&typeof cb!="function")throw new Error("flush cb must be a function");if(this.destroyed){let error2=new Error(
"SonicBoom destroyed");if(cb){cb(error2);return}throw error2}if(this.minLength<=0){cb?.();return}cb&&callFlushCallbackOnDrain.
call(this,cb),!this._writing&&(this._bufs.length===0&&this._bufs.push(""),this._actualWrite())}function flushBuffer(cb){
if(cb!=null&&typeof cb!="function")throw new Error("flush cb must be a function");if(this.destroyed){let error2=new Error(
"SonicBoom destroyed");if(cb){cb(error2);return}throw error2}if(this.minLength<=0){cb?.();return}cb&&callFlushCallbackOnDrain.
call(this,cb),!this._writing&&(this._bufs.length===0&&(this._bufs.push([]),this._lens.push(0)),this._actualWrite())}SonicBoom.
prototype.reopen=function(file){if(this.destroyed)throw new Error("SonicBoom destroyed");if(this._opening){this.once("re\
ady",()=>{this.reopen(file)});return}if(this._ending)return;if(!this.file)throw new Error("Unable to reopen a file descr\
iptor, you must pass a file to SonicBoom");if(file&&(this.file=file),this._reopening=!0,this._writing)return;let fd=this.
fd;this.once("ready",()=>{fd!==this.fd&&fs.close(fd,err=>{if(err)return this.emit("error",err)})}),openFile(this.file,this)};
SonicBoom.prototype.end=function(){if(this.destroyed)throw new Error("SonicBoom destroyed");if(this._opening){this.once(
"ready",()=>{this.end()});return}this._ending||(this._ending=!0,!this._writing&&(this._len>0&&this.fd>=0?this._actualWrite():
actualClose(this)))};function flushSync(){if(this.destroyed)throw new Error("SonicBoom destroyed");if(this.fd<0)throw new Error(
"sonic boom is not ready yet");!this._writing&&this._writingBuf.length>0&&(this._bufs.unshift(this._writingBuf),this._writingBuf=
"");let buf="";for(;this._bufs.length||buf.length;){buf.length<=0&&(buf=this._bufs[0]);try{let n=Buffer.isBuffer(buf)?fs.
writeSync(this.fd,buf):fs.writeSync(this.fd,buf,"utf8"),releasedBufObj=releaseWritingBuf(buf,this._len,n);buf=releasedBufObj.
writingBuf,this._len=releasedBufObj.len,buf.length<=0&&this._bufs.shift()}catch(err){if((err.code==="EAGAIN"||err.code===
"EBUSY")&&!this.retryEAGAIN(err,buf.length,this._len-buf.length))throw err;sleep(BUSY_WRITE_TIMEOUT)}}try{fs.fsyncSync(this.
fd)}catch{}}function flushBufferSync(){if(this.destroyed)throw new Error("SonicBoom destroyed");if(this.fd<0)throw new Error(
"sonic boom is not ready yet");!this._writing&&this._writingBuf.length>0&&(this._bufs.unshift([this._writingBuf]),this._writingBuf=
kEmptyBuffer);let buf=kEmptyBuffer;for(;this._bufs.length||buf.length;){buf.length<=0&&(buf=mergeBuf(this._bufs[0],this.
_lens[0]));try{let n=fs.writeSync(this.fd,buf);buf=buf.subarray(n),this._len=Math.max(this._len-n,0),buf.length<=0&&(this.
_bufs.shift(),this._lens.shift())}catch(err){if((err.code==="EAGAIN"||err.code==="EBUSY")&&!this.retryEAGAIN(err,buf.length,
this._len-buf.length))throw err;sleep(BUSY_WRITE_TIMEOUT)}}}SonicBoom.prototype.destroy=function(){this.destroyed||actualClose(
this)};function actualWrite(){let release=this.release;if(this._writing=!0,this._writingBuf=this._writingBuf.length?this.
_writingBuf:this._bufs.shift()||"",this.sync)try{let written=Buffer.isBuffer(this._writingBuf)?fs.writeSync(this.fd,this.
_writingBuf):fs.writeSync(this.fd,this._writingBuf,"utf8");release(null,written)}catch(err){release(err)}else fs.write(this.
fd,this._writingBuf,release)}function actualWriteBuffer(){let release=this.release;if(this._writing=!0,this._writingBuf=
this._writingBuf.length?this._writingBuf:mergeBuf(this._bufs.shift(),this._lens.shift()),this.sync)try{let written=fs.writeSync(
this.fd,this._writingBuf);release(null,written)}catch(err){release(err)}else kCopyBuffer&&(this._writingBuf=Buffer.from(
this._writingBuf)),fs.write(this.fd,this._writingBuf,release)}function actualClose(sonic){if(sonic.fd===-1){sonic.once("\
ready",actualClose.bind(null,sonic));return}sonic._periodicFlushTimer!==void 0&&clearInterval(sonic._periodicFlushTimer),
sonic.destroyed=!0,sonic._bufs=[],sonic._lens=[],assert2(typeof sonic.fd=="number",`sonic.fd must be a number, got ${typeof sonic.
fd}`);try{fs.fsync(sonic.fd,closeWrapped)}catch{}function closeWrapped(){sonic.fd!==1&&sonic.fd!==2?fs.close(sonic.fd,done):
done()}function done(err){if(err){sonic.emit("error",err);return}sonic._ending&&!sonic._writing&&sonic.emit("finish"),sonic.
emit("close")}}SonicBoom.SonicBoom=SonicBoom;SonicBoom.default=SonicBoom;module2.exports=SonicBoom}});var require_on_exit_leak_free=__commonJS({"node_modules/on-exit-leak-free/index.js"(exports2,module2){"use strict";var refs={
exit:[],beforeExit:[]},functions={exit:onExit,beforeExit:onBeforeExit},registry;function ensureRegistry(){registry===void 0&&
(registry=new FinalizationRegistry(clear))}function install(event){refs[event].length>0||process.on(event,functions[event])}
function uninstall(event){refs[event].length>0||(process.removeListener(event,functions[event]),refs.exit.length===0&&refs.
beforeExit.length===0&&(registry=void 0))}function onExit(){callRefs("exit")}function onBeforeExit(){callRefs("beforeExi\
t")}function callRefs(event){for(let ref of refs[event]){let obj=ref.deref(),fn=ref.fn;obj!==void 0&&fn(obj,event)}refs[event]=
[]}function clear(ref){for(let event of["exit","beforeExit"]){let index=refs[event].indexOf(ref);refs[event].splice(index,
index+1),uninstall(event)}}function _register(event,obj,fn){if(obj===void 0)throw new Error("the object can't be undefin\
ed");install(event);let ref=new WeakRef(obj);ref.fn=fn,ensureRegistry(),registry.register(obj,ref),refs[event].push(ref)}
function register(obj,fn){_register("exit",obj,fn)}function registerBeforeExit(obj,fn){_register("beforeExit",obj,fn)}function unregister(obj){
if(registry!==void 0){registry.unregister(obj);for(let event of["exit","beforeExit"])refs[event]=refs[event].filter(ref=>{
let _obj=ref.deref();return _obj&&_obj!==obj}),uninstall(event)}}module2.exports={register,registerBeforeExit,unregister}}});var require_package=__commonJS({"node_modules/thread-stream/package.json"(exports2,module2){module2.exports={version:"4.\
2.1"}}});var require_wait=__commonJS({"node_modules/thread-stream/lib/wait.js"(exports2,module2){"use strict";function wait(state,index,expected,timeout,done){
let max=timeout===1/0?1/0:Date.now()+timeout,check=previous=>{let current=Atomics.load(state,index);if(current>=expected){
done(null,"ok");return}if(previous!==void 0&&current!==previous){done(null,"not-equal");return}if(max!==1/0&&Date.now()>
max){done(null,"timed-out");return}let remaining=max===1/0?1e4:Math.min(1e4,Math.max(1,max-Date.now())),result=Atomics.waitAsync(
state,index,current,remaining);result.async?result.value.then(res=>{if(res==="ok"){let latest=Atomics.load(state,index);
done(null,latest>=expected?"ok":"not-equal");return}check(current)}):setImmediate(done,null,"not-equal")};check()}function waitDiff(state,index,expected,timeout,done){
let max=timeout===1/0?1/0:Date.now()+timeout,check=()=>{if(Atomics.load(state,index)!==expected){done(null,"ok");return}
if(max!==1/0&&Date.now()>max){done(null,"timed-out");return}let remaining=max===1/0?1e4:Math.min(1e4,Math.max(1,max-Date.
now())),result=Atomics.waitAsync(state,index,expected,remaining);result.async?result.value.then(res=>{if(res==="ok"){done(
null,"ok");return}check()}):setImmediate(check)};check()}module2.exports={wait,waitDiff}}});var require_indexes=__commonJS({"node_modules/thread-stream/lib/indexes.js"(exports2,module2){"use strict";module2.exports=
{WRITE_INDEX:4,READ_INDEX:8,SEQ_INDEX:2}}});var require_thread_stream=__commonJS({"node_modules/thread-stream/index.js"(exports2,module2){"use strict";var{version}=require_package(),
{EventEmitter}=require("events"),{Worker}=require("worker_threads"),{join:join2}=require("path"),{pathToFileURL}=require("url"),
{wait}=require_wait(),{WRITE_INDEX,READ_INDEX,SEQ_INDEX}=require_indexes(),buffer=require("buffer"),assert2=require("assert"),
kImpl=Symbol("kImpl"),MAX_STRING=buffer.constants.MAX_STRING_LENGTH;function noop(){}function updateState(stream,fn){Atomics.
add(stream[kImpl].state,SEQ_INDEX,1),fn(),Atomics.add(stream[kImpl].state,SEQ_INDEX,1),Atomics.notify(stream[kImpl].state,
SEQ_INDEX)}function resetIndexes(stream){updateState(stream,()=>{Atomics.store(stream[kImpl].state,READ_INDEX,0),Atomics.
store(stream[kImpl].state,WRITE_INDEX,0)}),Atomics.notify(stream[kImpl].state,READ_INDEX)}var FakeWeakRef=class{constructor(value){
this._value=value}deref(){return this._value}},FakeFinalizationRegistry=class{register(){}unregister(){}},FinalizationRegistry2=process.
env.NODE_V8_COVERAGE?FakeFinalizationRegistry:global.FinalizationRegistry||FakeFinalizationRegistry,WeakRef2=process.env.
NODE_V8_COVERAGE?FakeWeakRef:global.WeakRef||FakeWeakRef,registry=new FinalizationRegistry2(worker=>{worker.exited||worker.
terminate()});function createWorker(stream,opts){let{filename,workerData}=opts,toExecute=("__bundlerPathsOverrides"in globalThis?
globalThis.__bundlerPathsOverrides:{})["thread-stream-worker"]||join2(__dirname,"lib","worker.js"),worker=new Worker(toExecute,
{...opts.workerOpts,name:opts.workerOpts?.name||"thread-stream",trackUnmanagedFds:!1,workerData:{filename:filename.indexOf(
"file://")===0?filename:pathToFileURL(filename).href,dataBuf:stream[kImpl].dataBuf,stateBuf:stream[kImpl].stateBuf,workerData:{
$context:{threadStreamVersion:version},...workerData}}});return worker.stream=new FakeWeakRef(stream),worker.on("message",
onWorkerMessage),worker.on("exit",onWorkerExit),registry.register(stream,worker),worker}function drain(stream){assert2(!stream[kImpl].
sync),stream[kImpl].needDrain&&(stream[kImpl].needDrain=!1,stream.emit("drain"))}function nextFlush(stream){for(;;){let writeIndex=Atomics.
load(stream[kImpl].state,WRITE_INDEX);if(stream.destroyed||writeIndex<0)return;let leftover=stream[kImpl].data.length-writeIndex;
if(leftover>0){if(stream[kImpl].bufLen===0){stream[kImpl].flushing=!1,stream[kImpl].ending?end(stream):stream[kImpl].needDrain&&
process.nextTick(drain,stream);return}write(stream,leftover,noop);continue}if(leftover===0){if(writeIndex===0&&stream[kImpl].
bufLen===0)return;waitForRead(stream,()=>{stream.destroyed||(resetIndexes(stream),nextFlush(stream))});return}destroy(stream,
new Error("overwritten"));return}}function onWorkerMessage(msg){let stream=this.stream.deref();if(stream===void 0){this.
exited=!0,this.terminate();return}if(msg?.code!=null)switch(msg.code){case"READY":stream[kImpl].ending||(this.stream=new WeakRef2(
stream)),waitForRead(stream,()=>{stream[kImpl].ready=!0,stream.emit("ready")});break;case"ERROR":destroy(stream,msg.err);
break;case"EVENT":Array.isArray(msg.args)?stream.emit(msg.name,...msg.args):stream.emit(msg.name,msg.args);break;case"FL\
USHED":{if(msg.context!=="thread-stream"){destroy(stream,new Error("this should not happen: "+msg.code));break}let cb=stream[kImpl].
flushCallbacks.get(msg.id);cb&&(stream[kImpl].flushCallbacks.delete(msg.id),process.nextTick(cb));break}case"WARNING":process.
emitWarning(msg.err);break;default:destroy(stream,new Error("this should not happen: "+msg.code))}}function onWorkerExit(code2){
let stream=this.stream.deref();stream!==void 0&&(registry.unregister(stream),stream.worker.exited=!0,stream.worker.off("\
exit",onWorkerExit),destroy(stream,code2!==0?new Error("the worker thread exited"):null))}var ThreadStream=class extends EventEmitter{constructor(opts={}){
if(super(),opts.bufferSize<4)throw new Error("bufferSize must at least fit a 4-byte utf-8 char");this[kImpl]={},this[kImpl].
stateBuf=new SharedArrayBuffer(128),this[kImpl].state=new Int32Array(this[kImpl].stateBuf),this[kImpl].dataBuf=new SharedArrayBuffer(
opts.bufferSize||4*1024*1024),this[kImpl].data=Buffer.from(this[kImpl].dataBuf),this[kImpl].sync=opts.sync||!1,this[kImpl].
ending=!1,this[kImpl].ended=!1,this[kImpl].needDrain=!1,this[kImpl].destroyed=!1,this[kImpl].flushing=!1,this[kImpl].ready=
!1,this[kImpl].finished=!1,this[kImpl].errored=null,this[kImpl].closed=!1,this[kImpl].buf=[],this[kImpl].bufHead=0,this[kImpl].
bufLen=0,this[kImpl].flushCallbacks=new Map,this[kImpl].nextFlushId=0,this[kImpl].flushRetainCount=0,this[kImpl].userRef=
!0,this.worker=createWorker(this,opts),this.on("message",(message,transferList)=>{this.worker.postMessage(message,transferList)})}write(data){
let dataBuf=Buffer.isBuffer(data)?data:Buffer.from(data);if(this[kImpl].destroyed)return error2(this,new Error("the work\
er has exited")),!1;if(this[kImpl].ending)return error2(this,new Error("the worker is ending")),!1;if(this[kImpl].flushing&&
this[kImpl].bufLen+dataBuf.length>=MAX_STRING)try{writeSync2(this),this[kImpl].flushing=!0}catch(err){return destroy(this,
err),!1}if(this[kImpl].buf.push(dataBuf),this[kImpl].bufLen+=dataBuf.length,this[kImpl].sync)try{return writeSync2(this),
!0}catch(err){return destroy(this,err),!1}return this[kImpl].flushing||(this[kImpl].flushing=!0,setImmediate(nextFlush,this)),
this[kImpl].needDrain=this[kImpl].data.length-this[kImpl].bufLen-Atomics.load(this[kImpl].state,WRITE_INDEX)<=0,!this[kImpl].
needDrain}end(){this[kImpl].destroyed||(this[kImpl].ending=!0,this.worker.stream=new FakeWeakRef(this),end(this))}flush(cb){
let userCb=typeof cb=="function"?cb:null;cb=userCb||noop,userCb&&retainWorkerForPendingFlush(this);let finished=!1,done=err=>{
finished||(finished=!0,userCb&&releaseWorkerForPendingFlush(this),cb(err))};flushBuffer(this,err=>{if(err){process.nextTick(
done,err);return}requestWorkerFlush(this,done)})}flushSync(){this[kImpl].destroyed||(writeSync2(this),flushSync(this))}unref(){
this[kImpl].userRef=!1,this[kImpl].flushRetainCount===0&&this.worker.unref()}ref(){this[kImpl].userRef=!0,this.worker.ref()}get ready(){
return this[kImpl].ready}get destroyed(){return this[kImpl].destroyed}get closed(){return this[kImpl].closed}get writable(){
return!this[kImpl].destroyed&&!this[kImpl].ending}get writableEnded(){return this[kImpl].ending}get writableFinished(){return this[kImpl].
finished}get writableNeedDrain(){return this[kImpl].needDrain}get writableObjectMode(){return!1}get writableErrored(){return this[kImpl].
errored}};function flushBuffer(stream,cb){if(stream[kImpl].destroyed){process.nextTick(cb,new Error("the worker has exit\
ed"));return}if(!stream[kImpl].sync&&(stream[kImpl].flushing||stream[kImpl].bufLen>0)){setImmediate(flushBuffer,stream,cb);
return}waitForRead(stream,cb)}function waitForRead(stream,cb){let writeIndex=Atomics.load(stream[kImpl].state,WRITE_INDEX);
wait(stream[kImpl].state,READ_INDEX,writeIndex,1/0,(err,res)=>{if(err){destroy(stream,err),cb(err);return}if(res!=="ok"){
waitForRead(stream,cb);return}cb()})}function retainWorkerForPendingFlush(stream){stream[kImpl].flushRetainCount===0&&stream.
worker.ref(),stream[kImpl].flushRetainCount++}function releaseWorkerForPendingFlush(stream){stream[kImpl].flushRetainCount!==
0&&(stream[kImpl].flushRetainCount--,stream[kImpl].flushRetainCount===0&&!stream[kImpl].userRef&&stream.worker.unref())}
function requestWorkerFlush(stream,cb){if(stream[kImpl].destroyed){process.nextTick(cb,new Error("the worker has exited"));
return}if(!stream[kImpl].ready){let onReady=()=>{cleanup(),requestWorkerFlush(stream,cb)},onClose=()=>{cleanup(),process.
nextTick(cb,new Error("the worker has exited"))},cleanup=()=>{stream.off("ready",onReady),stream.off("close",onClose)};stream.
once("ready",onReady),stream.once("close",onClose);return}let id=++stream[kImpl].nextFlushId;stream[kImpl].flushCallbacks.
set(id,cb);try{stream.worker.postMessage({code:"FLUSH",context:"thread-stream",id})}catch(err){stream[kImpl].flushCallbacks.
delete(id),destroy(stream,err),process.nextTick(cb,err)}}function failPendingFlushCallbacks(stream,err){let callbacks=stream[kImpl].
flushCallbacks;if(callbacks.size===0)return;let flushErr=err||new Error("the worker has exited");for(let cb of callbacks.
values())process.nextTick(cb,flushErr);callbacks.clear()}function error2(stream,err){setImmediate(()=>{stream.emit("erro\
r",err)})}function destroy(stream,err){stream[kImpl].destroyed||(stream[kImpl].destroyed=!0,failPendingFlushCallbacks(stream,
err),err&&(stream[kImpl].errored=err,error2(stream,err)),stream.worker.exited?setImmediate(()=>{stream[kImpl].closed=!0,
stream.emit("close")}):stream.worker.terminate().catch(()=>{}).then(()=>{stream[kImpl].closed=!0,stream.emit("close")}))}
function write(stream,maxBytes,cb){let offset=Atomics.load(stream[kImpl].state,WRITE_INDEX),remaining=maxBytes;for(;remaining>
0&&stream[kImpl].bufLen!==0;){let head=stream[kImpl].bufHead,buf=stream[kImpl].buf[head];if(buf.length<=remaining){buf.copy(
stream[kImpl].data,offset),offset+=buf.length,remaining-=buf.length,stream[kImpl].bufLen-=buf.length,stream[kImpl].bufHead=
head+1,stream[kImpl].bufHead===stream[kImpl].buf.length?(stream[kImpl].buf.length=0,stream[kImpl].bufHead=0):stream[kImpl].
bufHead>=1024&&stream[kImpl].bufHead*2>=stream[kImpl].buf.length&&(stream[kImpl].buf.splice(0,stream[kImpl].bufHead),stream[kImpl].
bufHead=0);continue}buf.copy(stream[kImpl].data,offset,0,remaining),stream[kImpl].buf[head]=buf.subarray(remaining),stream[kImpl].
bufLen-=remaining,offset+=remaining,remaining=0}return updateState(stream,()=>{Atomics.store(stream[kImpl].state,WRITE_INDEX,
offset)}),cb(),!0}function end(stream){if(!(stream[kImpl].ended||!stream[kImpl].ending||stream[kImpl].flushing)){stream[kImpl].
ended=!0;try{stream.flushSync();let readIndex=Atomics.load(stream[kImpl].state,READ_INDEX);updateState(stream,()=>{Atomics.
store(stream[kImpl].state,WRITE_INDEX,-1)});let spins=0;for(;readIndex!==-1;){if(Atomics.wait(stream[kImpl].state,READ_INDEX,
readIndex,1e3),readIndex=Atomics.load(stream[kImpl].state,READ_INDEX),readIndex===-2){destroy(stream,new Error("end() fa\
iled"));return}if(++spins===10){destroy(stream,new Error("end() took too long (10s)"));return}}process.nextTick(()=>{stream[kImpl].
finished=!0,stream.emit("finish")})}catch(err){destroy(stream,err)}}}function writeSync2(stream){let cb=()=>{stream[kImpl].
ending?end(stream):stream[kImpl].needDrain&&process.nextTick(drain,stream)};for(stream[kImpl].flushing=!1;stream[kImpl].
bufLen!==0;){let writeIndex=Atomics.load(stream[kImpl].state,WRITE_INDEX);if(writeIndex<0)throw new Error("_writeSync fa\
iled");let leftover=stream[kImpl].data.length-writeIndex;if(leftover===0){flushSync(stream),resetIndexes(stream);continue}else if(leftover<
0)throw new Error("overwritten");write(stream,leftover,cb)}}function flushSync(stream){if(stream[kImpl].flushing)throw new Error(
"unable to flush while flushing");let writeIndex=Atomics.load(stream[kImpl].state,WRITE_INDEX),spins=0;for(;;){let readIndex=Atomics.
load(stream[kImpl].state,READ_INDEX);if(readIndex===-2)throw Error("_flushSync failed");if(readIndex!==writeIndex)Atomics.
wait(stream[kImpl].state,READ_INDEX,readIndex,1e3);else break;if(++spins===10)throw new Error("_flushSync took too long \
(10s)")}}module2.exports=ThreadStream}});var require_transport=__commonJS({"node_modules/pino/lib/transport.js"(exports2,module2){"use strict";var{createRequire}=require("module"),
{existsSync}=require("node:fs"),getCallers=require_caller(),{join:join2,isAbsolute,sep}=require("node:path"),{fileURLToPath}=require("node:url"),
sleep=require_atomic_sleep(),onExit=require_on_exit_leak_free(),ThreadStream=require_thread_stream(),{transportUsesMultistreamSym}=require_symbols();
function setupOnExit(stream){onExit.register(stream,autoEnd),onExit.registerBeforeExit(stream,flush),stream.on("close",function(){
onExit.unregister(stream)})}function hasPreloadFlags(){let execArgv=process.execArgv;for(let i=0;i<execArgv.length;i++){
let arg=execArgv[i];if(arg==="--import"||arg==="--require"||arg==="-r"||arg.startsWith("--import=")||arg.startsWith("--r\
equire=")||arg.startsWith("-r="))return!0}return!1}function sanitizeNodeOptions(nodeOptions){let tokens=nodeOptions.match(
/(?:[^\s"']+|"[^"]*"|'[^']*')+/g);if(!tokens)return nodeOptions;let sanitized=[],changed=!1;for(let i=0;i<tokens.length;i++){
let token=tokens[i];if(token==="--require"||token==="-r"||token==="--import"){let next=tokens[i+1];if(next&&shouldDropPreload(
next)){changed=!0,i++;continue}sanitized.push(token),next&&(sanitized.push(next),i++);continue}if(token.startsWith("--re\
quire=")||token.startsWith("-r=")||token.startsWith("--import=")){let value=token.slice(token.indexOf("=")+1);if(shouldDropPreload(
value)){changed=!0;continue}}sanitized.push(token)}return changed?sanitized.join(" "):nodeOptions}function shouldDropPreload(value){
let unquoted=stripQuotes(value);if(!unquoted)return!1;let path=unquoted;if(path.startsWith("file://"))try{path=fileURLToPath(
path)}catch{return!1}return isAbsolute(path)&&!existsSync(path)}function stripQuotes(value){let first=value[0],last=value[value.
length-1];return first==='"'&&last==='"'||first==="'"&&last==="'"?value.slice(1,-1):value}function buildStream(filename,workerData,workerOpts,sync,name){
if(!workerOpts.execArgv&&hasPreloadFlags()&&require.main===void 0&&(workerOpts={...workerOpts,execArgv:[]}),!workerOpts.
env&&process.env.NODE_OPTIONS){let nodeOptions=sanitizeNodeOptions(process.env.NODE_OPTIONS);nodeOptions!==process.env.NODE_OPTIONS&&
(workerOpts={...workerOpts,env:{...process.env,NODE_OPTIONS:nodeOptions}})}workerOpts={...workerOpts,name};let stream=new ThreadStream(
{filename,workerData,workerOpts,sync});stream.on("ready",onReady),stream.on("close",function(){process.removeListener("e\
xit",onExit2)}),process.on("exit",onExit2);function onReady(){process.removeListener("exit",onExit2),stream.unref(),workerOpts.
autoEnd!==!1&&setupOnExit(stream)}function onExit2(){stream.closed||(stream.flushSync(),sleep(100),stream.end())}return stream}
function autoEnd(stream){stream.ref(),stream.flushSync(),stream.end(),stream.once("close",function(){stream.unref()})}function flush(stream){
stream.flushSync()}function transport(fullOptions){let{pipeline,targets,levels,dedupe,worker={},caller=getCallers(),sync=!1}=fullOptions,
options={...fullOptions.options},usesMultistream=!1,callers=typeof caller=="string"?[caller]:caller,bundlerOverrides=typeof globalThis==
"object"&&Object.prototype.hasOwnProperty.call(globalThis,"__bundlerPathsOverrides")&&globalThis.__bundlerPathsOverrides&&
typeof globalThis.__bundlerPathsOverrides=="object"?globalThis.__bundlerPathsOverrides:Object.create(null),target=fullOptions.
target;if(target&&targets)throw new Error("only one of target or targets can be specified");if(targets){target=bundlerOverrides["\
pino-worker"]||join2(__dirname,"worker.js"),options.targets=targets.filter(dest=>dest.target).map(dest=>({...dest,target:fixTarget(
dest.target)})),options.pipelines=targets.filter(dest=>dest.pipeline).map(dest=>dest.pipeline.map(t=>({...t,level:dest.level,
target:fixTarget(t.target)})));let targetsHaveLevel=options.targets.some(t=>t.level!=null),pipelinesHaveLevel=options.pipelines.
some(p=>p.some(t=>t.level!=null));usesMultistream=options.targets.length+options.pipelines.length>1||targetsHaveLevel||pipelinesHaveLevel}else
pipeline&&(target=bundlerOverrides["pino-worker"]||join2(__dirname,"worker.js"),options.pipelines=[pipeline.map(dest=>({
...dest,target:fixTarget(dest.target)}))]);levels&&(options.levels=levels),dedupe&&(options.dedupe=dedupe),options.pinoWillSendConfig=
!0;let name=targets||pipeline?"pino.transport":target,stream=buildStream(fixTarget(target),options,worker,sync,name);return usesMultistream&&
(stream[transportUsesMultistreamSym]=!0),stream;function fixTarget(origin2){if(origin2=bundlerOverrides[origin2]||origin2,
isAbsolute(origin2)||origin2.indexOf("file://")===0)return origin2;if(origin2==="pino/file")return join2(__dirname,"..",
"file.js");let fixTarget2;for(let filePath of callers)try{let context=filePath==="node:repl"?process.cwd()+sep:filePath;
fixTarget2=createRequire(context).resolve(origin2);break}catch{continue}if(!fixTarget2)throw new Error(`unable to determ\
ine transport target for "${origin2}"`);return fixTarget2}}module2.exports=transport}});var require_tools=__commonJS({"node_modules/pino/lib/tools.js"(exports2,module2){"use strict";var diagChan=require("node:diagnostics_channel"),
format=require_quick_format_unescaped(),{mapHttpRequest,mapHttpResponse}=require_pino_std_serializers(),SonicBoom=require_sonic_boom(),
onExit=require_on_exit_leak_free(),{lsCacheSym,chindingsSym,writeSym,serializersSym,formatOptsSym,endSym,stringifiersSym,
stringifySym,stringifySafeSym,wildcardFirstSym,nestedKeySym,formattersSym,messageKeySym,errorKeySym,nestedKeyStrSym,msgPrefixSym}=require_symbols(),
{isMainThread}=require("worker_threads"),transport=require_transport(),[nodeMajor]=process.versions.node.split(".").map(
v=>Number(v)),asJsonChan=diagChan.tracingChannel("pino_asJson"),asString=nodeMajor>=25?str=>JSON.stringify(str):_asString;
function noop(){}function genLog(level,hook){if(!hook)return LOG;return function(...args){hook.call(this,args,LOG,level)};
function LOG(o,...n){if(typeof o=="object"){let msg=o;o!==null&&(o.method&&o.headers&&o.socket?o=mapHttpRequest(o):typeof o.
setHeader=="function"&&(o=mapHttpResponse(o)));let formatParams;msg===null&&n.length===0?formatParams=[null]:(msg=n.shift(),
formatParams=n),typeof this[msgPrefixSym]=="string"&&msg!==void 0&&msg!==null&&(msg=this[msgPrefixSym]+msg),this[writeSym](
o,format(msg,formatParams,this[formatOptsSym]),level)}else{let msg=o===void 0?n.shift():o;typeof this[msgPrefixSym]=="st\
ring"&&msg!==void 0&&msg!==null&&(msg=this[msgPrefixSym]+msg),this[writeSym](null,format(msg,n,this[formatOptsSym]),level)}}}
function _asString(str){let result="",last=0,found=!1,point=255,l=str.length;if(l>100)return JSON.stringify(str);for(var i=0;i<
l&&point>=32;i++)point=str.charCodeAt(i),(point===34||point===92)&&(result+=str.slice(last,i)+"\\",last=i,found=!0);return found?
result+=str.slice(last):result=str,point<32?JSON.stringify(str):'"'+result+'"'}function asJson(obj,msg,num,time){if(asJsonChan.
hasSubscribers===!1)return _asJson.call(this,obj,msg,num,time);let store={instance:this,arguments};return asJsonChan.traceSync(
_asJson,store,this,obj,msg,num,time)}function _asJson(obj,msg,num,time){let stringify2=this[stringifySym],stringifySafe=this[stringifySafeSym],
stringifiers=this[stringifiersSym],end=this[endSym],chindings=this[chindingsSym],serializers=this[serializersSym],formatters=this[formattersSym],
messageKey=this[messageKeySym],errorKey=this[errorKeySym],data=this[lsCacheSym][num]+time;data=data+chindings;let value;
formatters.log&&(obj=formatters.log(obj));let wildcardStringifier=stringifiers[wildcardFirstSym],propStr="";for(let key in obj)
if(value=obj[key],Object.prototype.hasOwnProperty.call(obj,key)&&value!==void 0){serializers[key]?value=serializers[key](
value):key===errorKey&&serializers.err&&(value=serializers.err(value));let stringifier=stringifiers[key]||wildcardStringifier;
switch(typeof value){case"undefined":case"function":continue;case"number":Number.isFinite(value)===!1&&(value=null);case"\
boolean":stringifier&&(value=stringifier(value));break;case"string":value=(stringifier||asString)(value);break;default:value=
(stringifier||stringify2)(value,stringifySafe)}if(value===void 0)continue;let strKey=asString(key);propStr+=","+strKey+"\
:"+value}let msgStr="";if(msg!==void 0){value=serializers[messageKey]?serializers[messageKey](msg):msg;let stringifier=stringifiers[messageKey]||
wildcardStringifier;switch(typeof value){case"function":break;case"number":Number.isFinite(value)===!1&&(value=null);case"\
boolean":stringifier&&(value=stringifier(value)),msgStr=',"'+messageKey+'":'+value;break;case"string":value=(stringifier||
asString)(value),msgStr=',"'+messageKey+'":'+value;break;default:value=(stringifier||stringify2)(value,stringifySafe),msgStr=
',"'+messageKey+'":'+value}}return this[nestedKeySym]&&propStr?data+this[nestedKeyStrSym]+propStr.slice(1)+"}"+msgStr+end:
data+propStr+msgStr+end}function asChindings(instance,bindings){let value,data=instance[chindingsSym],stringify2=instance[stringifySym],
stringifySafe=instance[stringifySafeSym],stringifiers=instance[stringifiersSym],wildcardStringifier=stringifiers[wildcardFirstSym],
serializers=instance[serializersSym],formatter=instance[formattersSym].bindings;bindings=formatter(bindings);for(let key in bindings)
if(value=bindings[key],((key.length<5||key!=="level"&&key!=="serializers"&&key!=="formatters"&&key!=="customLevels")&&bindings.
hasOwnProperty(key)&&value!==void 0)===!0){if(value=serializers[key]?serializers[key](value):value,value=(stringifiers[key]||
wildcardStringifier||stringify2)(value,stringifySafe),value===void 0)continue;data+=","+asString(key)+":"+value}return data}
function hasBeenTampered(stream){return stream.write!==stream.constructor.prototype.write}function buildSafeSonicBoom(opts){
let stream=new SonicBoom(opts);return stream.on("error",filterBrokenPipe),!opts.sync&&isMainThread&&(onExit.register(stream,
autoEnd),stream.on("close",function(){onExit.unregister(stream)})),stream;function filterBrokenPipe(err){if(err.code==="\
EPIPE"){stream.write=noop,stream.end=noop,stream.flushSync=noop,stream.destroy=noop;return}stream.removeListener("error",
filterBrokenPipe),stream.emit("error",err)}}function autoEnd(stream,eventName){stream.destroyed||(eventName==="beforeExi\
t"?(stream.flush(),stream.on("drain",function(){stream.end()})):stream.flushSync())}function createArgsNormalizer(defaultOptions){
return function(instance,caller,opts={},stream){if(typeof opts=="string")stream=buildSafeSonicBoom({dest:opts}),opts={};else if(typeof stream==
"string"){if(opts&&opts.transport)throw Error("only one of option.transport or stream can be specified");stream=buildSafeSonicBoom(
{dest:stream})}else if(opts instanceof SonicBoom||opts.writable||opts._writableState)stream=opts,opts={};else if(opts.transport){
if(opts.transport instanceof SonicBoom||opts.transport.writable||opts.transport._writableState)throw Error("option.trans\
port do not allow stream, please pass to option directly. e.g. pino(transport)");if(opts.transport.targets&&opts.transport.
targets.length&&opts.formatters&&typeof opts.formatters.level=="function")throw Error("option.transport.targets do not a\
llow custom level formatters");let customLevels;opts.customLevels&&(customLevels=opts.useOnlyCustomLevels?opts.customLevels:
Object.assign({},opts.levels,opts.customLevels)),stream=transport({caller,...opts.transport,levels:customLevels})}if(opts=
Object.assign({},defaultOptions,opts),opts.serializers=Object.assign(Object.create(null),defaultOptions.serializers,opts.
serializers),opts.formatters=Object.assign({},defaultOptions.formatters,opts.formatters),opts.prettyPrint)throw new Error(
"prettyPrint option is no longer supported, see the pino-pretty package (https://github.com/pinojs/pino-pretty)");let{enabled,
onChild}=opts;return enabled===!1&&(opts.level="silent"),onChild||(opts.onChild=noop),stream||(hasBeenTampered(process.stdout)?
stream=process.stdout:stream=buildSafeSonicBoom({fd:process.stdout.fd||1})),{opts,stream}}}function stringify(obj,stringifySafeFn){
try{return JSON.stringify(obj)}catch{try{return(stringifySafeFn||this[stringifySafeSym])(obj)}catch{return'"[unable to s\
erialize, circular reference is too complex to analyze]"'}}}function buildFormatters(level,bindings,log){return{level,bindings,
log}}function normalizeDestFileDescriptor(destination2){let fd=Number(destination2);return typeof destination2=="string"&&
Number.isFinite(fd)?fd:destination2===void 0?1:destination2}module2.exports={noop,buildSafeSonicBoom,asChindings,asJson,
genLog,createArgsNormalizer,stringify,buildFormatters,normalizeDestFileDescriptor}}});var require_constants=__commonJS({"node_modules/pino/lib/constants.js"(exports2,module2){var DEFAULT_LEVELS={trace:10,debug:20,
info:30,warn:40,error:50,fatal:60},SORTING_ORDER={ASC:"ASC",DESC:"DESC"};module2.exports={DEFAULT_LEVELS,SORTING_ORDER}}});var require_levels=__commonJS({"node_modules/pino/lib/levels.js"(exports2,module2){"use strict";var{lsCacheSym,levelValSym,
useOnlyCustomLevelsSym,streamSym,formattersSym,hooksSym,levelCompSym}=require_symbols(),{noop,genLog}=require_tools(),{DEFAULT_LEVELS,
SORTING_ORDER}=require_constants(),levelMethods={fatal:hook=>{let logFatal=genLog(DEFAULT_LEVELS.fatal,hook);return function(...args){
let stream=this[streamSym];if(logFatal.call(this,...args),typeof stream.flushSync=="function")try{stream.flushSync()}catch{}}},
error:hook=>genLog(DEFAULT_LEVELS.error,hook),warn:hook=>genLog(DEFAULT_LEVELS.warn,hook),info:hook=>genLog(DEFAULT_LEVELS.
info,hook),debug:hook=>genLog(DEFAULT_LEVELS.debug,hook),trace:hook=>genLog(DEFAULT_LEVELS.trace,hook)},nums=Object.keys(
DEFAULT_LEVELS).reduce((o,k)=>(o[DEFAULT_LEVELS[k]]=k,o),{}),initialLsCache=Object.keys(nums).reduce((o,k)=>(o[k]='{"lev\
el":'+Number(k),o),{});function genLsCache(instance){let formatter=instance[formattersSym].level,{labels:labels2}=instance.
levels,cache={};for(let label2 in labels2){let level=formatter(labels2[label2],Number(label2));cache[label2]=JSON.stringify(
level).slice(0,-1)}return instance[lsCacheSym]=cache,instance}function isStandardLevel(level,useOnlyCustomLevels){if(useOnlyCustomLevels)
return!1;switch(level){case"fatal":case"error":case"warn":case"info":case"debug":case"trace":return!0;default:return!1}}
function setLevel(level){let{labels:labels2,values}=this.levels;if(typeof level=="number"){if(labels2[level]===void 0)throw Error(
"unknown level value"+level);level=labels2[level]}if(values[level]===void 0)throw Error("unknown level "+level);let preLevelVal=this[levelValSym],
levelVal=this[levelValSym]=values[level],useOnlyCustomLevelsVal=this[useOnlyCustomLevelsSym],levelComparison=this[levelCompSym],
hook=this[hooksSym].logMethod;for(let key in values){if(levelComparison(values[key],levelVal)===!1){this[key]=noop;continue}
this[key]=isStandardLevel(key,useOnlyCustomLevelsVal)?levelMethods[key](hook):genLog(values[key],hook)}this.emit("level-\
change",level,levelVal,labels2[preLevelVal],preLevelVal,this)}function getLevel(level){let{levels,levelVal}=this;return levels&&
levels.labels?levels.labels[levelVal]:""}function isLevelEnabled(logLevel){let{values}=this.levels,logLevelVal=values[logLevel];
return logLevelVal!==void 0&&this[levelCompSym](logLevelVal,this[levelValSym])}function compareLevel(direction,current,expected){
return direction===SORTING_ORDER.DESC?current<=expected:current>=expected}function genLevelComparison(levelComparison){return typeof levelComparison==
"string"?compareLevel.bind(null,levelComparison):levelComparison}function mappings(customLevels=null,useOnlyCustomLevels=!1){
let customNums=customLevels?Object.keys(customLevels).reduce((o,k)=>(o[customLevels[k]]=k,o),{}):null,labels2=Object.assign(
Object.create(Object.prototype,{Infinity:{value:"silent"}}),useOnlyCustomLevels?null:nums,customNums),values=Object.assign(
Object.create(Object.prototype,{silent:{value:1/0}}),useOnlyCustomLevels?null:DEFAULT_LEVELS,customLevels);return{labels:labels2,
values}}function assertDefaultLevelFound(defaultLevel,customLevels,useOnlyCustomLevels){if(typeof defaultLevel=="number"){
if(![].concat(Object.keys(customLevels||{}).map(key=>customLevels[key]),useOnlyCustomLevels?[]:Object.keys(nums).map(level=>+level),
1/0).includes(defaultLevel))throw Error(`default level:${defaultLevel} must be included in custom levels`);return}let labels2=Object.
assign(Object.create(Object.prototype,{silent:{value:1/0}}),useOnlyCustomLevels?null:DEFAULT_LEVELS,customLevels);if(!(defaultLevel in
labels2))throw Error(`default level:${defaultLevel} must be included in custom levels`)}function assertNoLevelCollisions(levels,customLevels){
let{labels:labels2,values}=levels;for(let k in customLevels){if(k in values)throw Error("levels cannot be overridden");if(customLevels[k]in
labels2)throw Error("pre-existing level values cannot be used for new levels")}}function assertLevelComparison(levelComparison){
if(typeof levelComparison!="function"&&!(typeof levelComparison=="string"&&Object.values(SORTING_ORDER).includes(levelComparison)))
throw new Error('Levels comparison should be one of "ASC", "DESC" or "function" type')}module2.exports={initialLsCache,genLsCache,
levelMethods,getLevel,setLevel,isLevelEnabled,mappings,assertNoLevelCollisions,assertDefaultLevelFound,genLevelComparison,
assertLevelComparison}}});var require_meta=__commonJS({"node_modules/pino/lib/meta.js"(exports2,module2){"use strict";module2.exports={version:"10\
.4.0"}}});var require_proto=__commonJS({"node_modules/pino/lib/proto.js"(exports2,module2){"use strict";var{EventEmitter}=require("node:events"),
{lsCacheSym,levelValSym,setLevelSym,getLevelSym,chindingsSym,mixinSym,asJsonSym,writeSym,mixinMergeStrategySym,timeSym,timeSliceIndexSym,
streamSym,serializersSym,formattersSym,errorKeySym,messageKeySym,useOnlyCustomLevelsSym,needsMetadataGsym,redactFmtSym,stringifySym,
formatOptsSym,stringifiersSym,msgPrefixSym,hooksSym}=require_symbols(),{getLevel,setLevel,isLevelEnabled,mappings,initialLsCache,
genLsCache,assertNoLevelCollisions}=require_levels(),{asChindings,asJson,buildFormatters,stringify,noop}=require_tools(),
{version}=require_meta(),redaction=require_redaction(),constructor=class{},prototype={constructor,child,bindings,setBindings,
flush,isLevelEnabled,version,get level(){return this[getLevelSym]()},set level(lvl){this[setLevelSym](lvl)},get levelVal(){
return this[levelValSym]},set levelVal(n){throw Error("levelVal is read-only")},get msgPrefix(){return this[msgPrefixSym]},
get[Symbol.toStringTag](){return"Pino"},[lsCacheSym]:initialLsCache,[writeSym]:write,[asJsonSym]:asJson,[getLevelSym]:getLevel,
[setLevelSym]:setLevel};Object.setPrototypeOf(prototype,EventEmitter.prototype);module2.exports=function(){return Object.
create(prototype)};var resetChildingsFormatter=bindings2=>bindings2;function child(bindings2,options){if(!bindings2)throw Error(
"missing bindings for child Pino");let serializers=this[serializersSym],formatters=this[formattersSym],instance=Object.create(
this);if(options==null)return instance[formattersSym].bindings!==resetChildingsFormatter&&(instance[formattersSym]=buildFormatters(
formatters.level,resetChildingsFormatter,formatters.log)),instance[chindingsSym]=asChindings(instance,bindings2),this.onChild!==
noop&&this.onChild(instance),instance;if(options.hasOwnProperty("serializers")===!0){instance[serializersSym]=Object.create(
null);for(let k in serializers)instance[serializersSym][k]=serializers[k];let parentSymbols=Object.getOwnPropertySymbols(
serializers);for(var i=0;i<parentSymbols.length;i++){let ks=parentSymbols[i];instance[serializersSym][ks]=serializers[ks]}
for(let bk in options.serializers)instance[serializersSym][bk]=options.serializers[bk];let bindingsSymbols=Object.getOwnPropertySymbols(
options.serializers);for(var bi=0;bi<bindingsSymbols.length;bi++){let bks=bindingsSymbols[bi];instance[serializersSym][bks]=
options.serializers[bks]}}else instance[serializersSym]=serializers;if(options.hasOwnProperty("formatters")){let{level,bindings:chindings,
log}=options.formatters;instance[formattersSym]=buildFormatters(level||formatters.level,chindings||resetChildingsFormatter,
log||formatters.log)}else instance[formattersSym]=buildFormatters(formatters.level,resetChildingsFormatter,formatters.log);
if(options.hasOwnProperty("customLevels")===!0&&(assertNoLevelCollisions(this.levels,options.customLevels),instance.levels=
mappings(options.customLevels,instance[useOnlyCustomLevelsSym]),genLsCache(instance)),typeof options.redact=="object"&&options.
redact!==null||Array.isArray(options.redact)){instance.redact=options.redact;let stringifiers=redaction(instance.redact,
stringify),formatOpts={stringify:stringifiers[redactFmtSym]};instance[stringifySym]=stringify,instance[stringifiersSym]=
stringifiers,instance[formatOptsSym]=formatOpts}if(typeof options.msgPrefix=="string"&&(instance[msgPrefixSym]=(this[msgPrefixSym]||
"")+options.msgPrefix),instance[chindingsSym]=asChindings(instance,bindings2),options.level!==void 0&&options.level!==this.
level||options.hasOwnProperty("customLevels")){let childLevel=options.level||this.level;instance[setLevelSym](childLevel)}
return this.onChild(instance),instance}function bindings(){let chindingsJson=`{${this[chindingsSym].substr(1)}}`,bindingsFromJson=JSON.
parse(chindingsJson);return delete bindingsFromJson.pid,delete bindingsFromJson.hostname,bindingsFromJson}function setBindings(newBindings){
let chindings=asChindings(this,newBindings);this[chindingsSym]=chindings}function defaultMixinMergeStrategy(mergeObject,mixinObject){
return Object.assign(mixinObject,mergeObject)}function write(_obj,msg,num){let t=this[timeSym](),mixin=this[mixinSym],errorKey=this[errorKeySym],
messageKey=this[messageKeySym],mixinMergeStrategy=this[mixinMergeStrategySym]||defaultMixinMergeStrategy,obj,streamWriteHook=this[hooksSym].
streamWrite;_obj==null?obj={}:_obj instanceof Error?(obj={[errorKey]:_obj},msg===void 0&&(msg=_obj.message)):(obj=_obj,msg===
void 0&&_obj[messageKey]===void 0&&_obj[errorKey]&&(msg=_obj[errorKey].message)),mixin&&(obj=mixinMergeStrategy(obj,mixin(
obj,num,this)));let s=this[asJsonSym](obj,msg,num,t),stream=this[streamSym];stream[needsMetadataGsym]===!0&&(stream.lastLevel=
num,stream.lastObj=obj,stream.lastMsg=msg,stream.lastTime=t.slice(this[timeSliceIndexSym]),stream.lastLogger=this),stream.
write(streamWriteHook?streamWriteHook(s):s)}function flush(cb){if(cb!=null&&typeof cb!="function")throw Error("callback \
must be a function");let stream=this[streamSym];typeof stream.flush=="function"?stream.flush(cb||noop):cb&&cb()}}});var require_safe_stable_stringify=__commonJS({"node_modules/safe-stable-stringify/index.js"(exports2,module2){"use stric\
t";var{hasOwnProperty}=Object.prototype,stringify=configure();stringify.configure=configure;stringify.stringify=stringify;
stringify.default=stringify;exports2.stringify=stringify;exports2.configure=configure;module2.exports=stringify;var strEscapeSequencesRegExp=/[\u0000-\u001f\u0022\u005c\ud800-\udfff]/;
function strEscape(str){return str.length<5e3&&!strEscapeSequencesRegExp.test(str)?`"${str}"`:JSON.stringify(str)}function sort(array,comparator){
if(array.length>200||comparator)return array.sort(comparator);for(let i=1;i<array.length;i++){let currentValue=array[i],
position=i;for(;position!==0&&array[position-1]>currentValue;)array[position]=array[position-1],position--;array[position]=
currentValue}return array}var typedArrayPrototypeGetSymbolToStringTag=Object.getOwnPropertyDescriptor(Object.getPrototypeOf(
Object.getPrototypeOf(new Int8Array)),Symbol.toStringTag).get;function isTypedArrayWithEntries(value){return typedArrayPrototypeGetSymbolToStringTag.
call(value)!==void 0&&value.length!==0}function stringifyTypedArray(array,separator,maximumBreadth){array.length<maximumBreadth&&
(maximumBreadth=array.length);let whitespace=separator===","?"":" ",res=`"0":${whitespace}${array[0]}`;for(let i=1;i<maximumBreadth;i++)
res+=`${separator}"${i}":${whitespace}${array[i]}`;return res}function getCircularValueOption(options){if(hasOwnProperty.
call(options,"circularValue")){let circularValue=options.circularValue;if(typeof circularValue=="string")return`"${circularValue}\
"`;if(circularValue==null)return circularValue;if(circularValue===Error||circularValue===TypeError)return{toString(){throw new TypeError(
"Converting circular structure to JSON")}};throw new TypeError('The "circularValue" argument must be of type string or t\
he value null or undefined')}return'"[Circular]"'}function getDeterministicOption(options){let value;if(hasOwnProperty.call(
options,"deterministic")&&(value=options.deterministic,typeof value!="boolean"&&typeof value!="function"))throw new TypeError(
'The "deterministic" argument must be of type boolean or comparator function');return value===void 0?!0:value}function getBooleanOption(options,key){
let value;if(hasOwnProperty.call(options,key)&&(value=options[key],typeof value!="boolean"))throw new TypeError(`The "${key}\
" argument must be of type boolean`);return value===void 0?!0:value}function getPositiveIntegerOption(options,key){let value;
if(hasOwnProperty.call(options,key)){if(value=options[key],typeof value!="number")throw new TypeError(`The "${key}" argu\
ment must be of type number`);if(!Number.isInteger(value))throw new TypeError(`The "${key}" argument must be an integer`);
if(value<1)throw new RangeError(`The "${key}" argument must be >= 1`)}return value===void 0?1/0:value}function getItemCount(number){
return number===1?"1 item":`${number} items`}function getUniqueReplacerSet(replacerArray){let replacerSet=new Set;for(let value of replacerArray)
(typeof value=="string"||typeof value=="number")&&replacerSet.add(String(value));return replacerSet}function getStrictOption(options){
if(hasOwnProperty.call(options,"strict")){let value=options.strict;if(typeof value!="boolean")throw new TypeError('The "\
strict" argument must be of type boolean');if(value)return value2=>{let message=`Object can not safely be stringified. R\
eceived type ${typeof value2}`;throw typeof value2!="function"&&(message+=` (${value2.toString()})`),new Error(message)}}}
function configure(options){options={...options};let fail=getStrictOption(options);fail&&(options.bigint===void 0&&(options.
bigint=!1),"circularValue"in options||(options.circularValue=Error));let circularValue=getCircularValueOption(options),bigint=getBooleanOption(
options,"bigint"),deterministic=getDeterministicOption(options),comparator=typeof deterministic=="function"?deterministic:
void 0,maximumDepth=getPositiveIntegerOption(options,"maximumDepth"),maximumBreadth=getPositiveIntegerOption(options,"ma\
ximumBreadth");function stringifyFnReplacer(key,parent,stack,replacer,spacer,indentation){let value=parent[key];switch(typeof value==
"object"&&value!==null&&typeof value.toJSON=="function"&&(value=value.toJSON(key)),value=replacer.call(parent,key,value),
typeof value){case"string":return strEscape(value);case"object":{if(value===null)return"null";if(stack.indexOf(value)!==
-1)return circularValue;let res="",join2=",",originalIndentation=indentation;if(Array.isArray(value)){if(value.length===
0)return"[]";if(maximumDepth<stack.length+1)return'"[Array]"';stack.push(value),spacer!==""&&(indentation+=spacer,res+=`\

${indentation}`,join2=`,
${indentation}`);let maximumValuesToStringify=Math.min(value.length,maximumBreadth),i=0;for(;i<maximumValuesToStringify-
1;i++){let tmp2=stringifyFnReplacer(String(i),value,stack,replacer,spacer,indentation);res+=tmp2!==void 0?tmp2:"null",res+=
join2}let tmp=stringifyFnReplacer(String(i),value,stack,replacer,spacer,indentation);if(res+=tmp!==void 0?tmp:"null",value.
length-1>maximumBreadth){let removedKeys=value.length-maximumBreadth-1;res+=`${join2}"... ${getItemCount(removedKeys)} n\
ot stringified"`}return spacer!==""&&(res+=`
${originalIndentation}`),stack.pop(),`[${res}]`}let keys=Object.keys(value),keyLength=keys.length;if(keyLength===0)return"\
{}";if(maximumDepth<stack.length+1)return'"[Object]"';let whitespace="",separator="";spacer!==""&&(indentation+=spacer,join2=
`,
${indentation}`,whitespace=" ");let maximumPropertiesToStringify=Math.min(keyLength,maximumBreadth);deterministic&&!isTypedArrayWithEntries(
value)&&(keys=sort(keys,comparator)),stack.push(value);for(let i=0;i<maximumPropertiesToStringify;i++){let key2=keys[i],
tmp=stringifyFnReplacer(key2,value,stack,replacer,spacer,indentation);tmp!==void 0&&(res+=`${separator}${strEscape(key2)}\
:${whitespace}${tmp}`,separator=join2)}if(keyLength>maximumBreadth){let removedKeys=keyLength-maximumBreadth;res+=`${separator}\
"...":${whitespace}"${getItemCount(removedKeys)} not stringified"`,separator=join2}return spacer!==""&&separator.length>
1&&(res=`
${indentation}${res}
${originalIndentation}`),stack.pop(),`{${res}}`}case"number":return isFinite(value)?String(value):fail?fail(value):"null";case"\
boolean":return value===!0?"true":"false";case"undefined":return;case"bigint":if(bigint)return String(value);default:return fail?
fail(value):void 0}}function stringifyArrayReplacer(key,value,stack,replacer,spacer,indentation){switch(typeof value=="o\
bject"&&value!==null&&typeof value.toJSON=="function"&&(value=value.toJSON(key)),typeof value){case"string":return strEscape(
value);case"object":{if(value===null)return"null";if(stack.indexOf(value)!==-1)return circularValue;let originalIndentation=indentation,
res="",join2=",";if(Array.isArray(value)){if(value.length===0)return"[]";if(maximumDepth<stack.length+1)return'"[Array]"';
stack.push(value),spacer!==""&&(indentation+=spacer,res+=`
${indentation}`,join2=`,
${indentation}`);let maximumValuesToStringify=Math.min(value.length,maximumBreadth),i=0;for(;i<maximumValuesToStringify-
1;i++){let tmp2=stringifyArrayReplacer(String(i),value[i],stack,replacer,spacer,indentation);res+=tmp2!==void 0?tmp2:"nu\
ll",res+=join2}let tmp=stringifyArrayReplacer(String(i),value[i],stack,replacer,spacer,indentation);if(res+=tmp!==void 0?
tmp:"null",value.length-1>maximumBreadth){let removedKeys=value.length-maximumBreadth-1;res+=`${join2}"... ${getItemCount(
removedKeys)} not stringified"`}return spacer!==""&&(res+=`
${originalIndentation}`),stack.pop(),`[${res}]`}stack.push(value);let whitespace="";spacer!==""&&(indentation+=spacer,join2=
`,
${indentation}`,whitespace=" ");let separator="";for(let key2 of replacer){let tmp=stringifyArrayReplacer(key2,value[key2],
stack,replacer,spacer,indentation);tmp!==void 0&&(res+=`${separator}${strEscape(key2)}:${whitespace}${tmp}`,separator=join2)}
return spacer!==""&&separator.length>1&&(res=`
${indentation}${res}
${originalIndentation}`),stack.pop(),`{${res}}`}case"number":return isFinite(value)?String(value):fail?fail(value):"null";case"\
boolean":return value===!0?"true":"false";case"undefined":return;case"bigint":if(bigint)return String(value);default:return fail?
fail(value):void 0}}function stringifyIndent(key,value,stack,spacer,indentation){switch(typeof value){case"string":return strEscape(
value);case"object":{if(value===null)return"null";if(typeof value.toJSON=="function"){if(value=value.toJSON(key),typeof value!=
"object")return stringifyIndent(key,value,stack,spacer,indentation);if(value===null)return"null"}if(stack.indexOf(value)!==
-1)return circularValue;let originalIndentation=indentation;if(Array.isArray(value)){if(value.length===0)return"[]";if(maximumDepth<
stack.length+1)return'"[Array]"';stack.push(value),indentation+=spacer;let res2=`
${indentation}`,join3=`,
${indentation}`,maximumValuesToStringify=Math.min(value.length,maximumBreadth),i=0;for(;i<maximumValuesToStringify-1;i++){
let tmp2=stringifyIndent(String(i),value[i],stack,spacer,indentation);res2+=tmp2!==void 0?tmp2:"null",res2+=join3}let tmp=stringifyIndent(
String(i),value[i],stack,spacer,indentation);if(res2+=tmp!==void 0?tmp:"null",value.length-1>maximumBreadth){let removedKeys=value.
length-maximumBreadth-1;res2+=`${join3}"... ${getItemCount(removedKeys)} not stringified"`}return res2+=`
${originalIndentation}`,stack.pop(),`[${res2}]`}let keys=Object.keys(value),keyLength=keys.length;if(keyLength===0)return"\
{}";if(maximumDepth<stack.length+1)return'"[Object]"';indentation+=spacer;let join2=`,
${indentation}`,res="",separator="",maximumPropertiesToStringify=Math.min(keyLength,maximumBreadth);isTypedArrayWithEntries(
value)&&(res+=stringifyTypedArray(value,join2,maximumBreadth),keys=keys.slice(value.length),maximumPropertiesToStringify-=
value.length,separator=join2),deterministic&&(keys=sort(keys,comparator)),stack.push(value);for(let i=0;i<maximumPropertiesToStringify;i++){
let key2=keys[i],tmp=stringifyIndent(key2,value[key2],stack,spacer,indentation);tmp!==void 0&&(res+=`${separator}${strEscape(
key2)}: ${tmp}`,separator=join2)}if(keyLength>maximumBreadth){let removedKeys=keyLength-maximumBreadth;res+=`${separator}\
"...": "${getItemCount(removedKeys)} not stringified"`,separator=join2}return separator!==""&&(res=`
${indentation}${res}
${originalIndentation}`),stack.pop(),`{${res}}`}case"number":return isFinite(value)?String(value):fail?fail(value):"null";case"\
boolean":return value===!0?"true":"false";case"undefined":return;case"bigint":if(bigint)return String(value);default:return fail?
fail(value):void 0}}function stringifySimple(key,value,stack){switch(typeof value){case"string":return strEscape(value);case"\
object":{if(value===null)return"null";if(typeof value.toJSON=="function"){if(value=value.toJSON(key),typeof value!="obje\
ct")return stringifySimple(key,value,stack);if(value===null)return"null"}if(stack.indexOf(value)!==-1)return circularValue;
let res="",hasLength=value.length!==void 0;if(hasLength&&Array.isArray(value)){if(value.length===0)return"[]";if(maximumDepth<
stack.length+1)return'"[Array]"';stack.push(value);let maximumValuesToStringify=Math.min(value.length,maximumBreadth),i=0;
for(;i<maximumValuesToStringify-1;i++){let tmp2=stringifySimple(String(i),value[i],stack);res+=tmp2!==void 0?tmp2:"null",
res+=","}let tmp=stringifySimple(String(i),value[i],stack);if(res+=tmp!==void 0?tmp:"null",value.length-1>maximumBreadth){
let removedKeys=value.length-maximumBreadth-1;res+=`,"... ${getItemCount(removedKeys)} not stringified"`}return stack.pop(),
`[${res}]`}let keys=Object.keys(value),keyLength=keys.length;if(keyLength===0)return"{}";if(maximumDepth<stack.length+1)
return'"[Object]"';let separator="",maximumPropertiesToStringify=Math.min(keyLength,maximumBreadth);hasLength&&isTypedArrayWithEntries(
value)&&(res+=stringifyTypedArray(value,",",maximumBreadth),keys=keys.slice(value.length),maximumPropertiesToStringify-=
value.length,separator=","),deterministic&&(keys=sort(keys,comparator)),stack.push(value);for(let i=0;i<maximumPropertiesToStringify;i++){
let key2=keys[i],tmp=stringifySimple(key2,value[key2],stack);tmp!==void 0&&(res+=`${separator}${strEscape(key2)}:${tmp}`,
separator=",")}if(keyLength>maximumBreadth){let removedKeys=keyLength-maximumBreadth;res+=`${separator}"...":"${getItemCount(
removedKeys)} not stringified"`}return stack.pop(),`{${res}}`}case"number":return isFinite(value)?String(value):fail?fail(
value):"null";case"boolean":return value===!0?"true":"false";case"undefined":return;case"bigint":if(bigint)return String(
value);default:return fail?fail(value):void 0}}function stringify2(value,replacer,space){if(arguments.length>1){let spacer="";
if(typeof space=="number"?spacer=" ".repeat(Math.min(space,10)):typeof space=="string"&&(spacer=space.slice(0,10)),replacer!=
null){if(typeof replacer=="function")return stringifyFnReplacer("",{"":value},[],replacer,spacer,"");if(Array.isArray(replacer))
return stringifyArrayReplacer("",value,[],getUniqueReplacerSet(replacer),spacer,"")}if(spacer.length!==0)return stringifyIndent(
"",value,[],spacer,"")}return stringifySimple("",value,[])}return stringify2}}});var require_multistream=__commonJS({"node_modules/pino/lib/multistream.js"(exports2,module2){"use strict";var metadata=Symbol.
for("pino.metadata"),{DEFAULT_LEVELS}=require_constants(),DEFAULT_INFO_LEVEL=DEFAULT_LEVELS.info;function multistream(streamsArray,opts){
streamsArray=streamsArray||[],opts=opts||{dedupe:!1};let streamLevels=Object.create(DEFAULT_LEVELS);streamLevels.silent=
1/0,opts.levels&&typeof opts.levels=="object"&&Object.keys(opts.levels).forEach(i=>{streamLevels[i]=opts.levels[i]});let res={
write,add,remove,emit,flushSync,end,minLevel:0,lastId:0,streams:[],clone,[metadata]:!0,streamLevels};return Array.isArray(
streamsArray)?streamsArray.forEach(add,res):add.call(res,streamsArray),streamsArray=null,res;function write(data){let dest,
level=typeof this.lastLevel=="string"?(this.streamLevels||streamLevels)[this.lastLevel]:this.lastLevel,{streams}=this,recordedLevel=0,
stream;for(let i=initLoopVar(streams.length,opts.dedupe);checkLoopVar(i,streams.length,opts.dedupe);i=adjustLoopVar(i,opts.
dedupe))if(dest=streams[i],dest.level<=level){if(recordedLevel!==0&&recordedLevel!==dest.level)break;if(stream=dest.stream,
stream[metadata]){let{lastTime,lastMsg,lastObj,lastLogger}=this;stream.lastLevel=level,stream.lastTime=lastTime,stream.lastMsg=
lastMsg,stream.lastObj=lastObj,stream.lastLogger=lastLogger}stream.write(data),opts.dedupe&&(recordedLevel=dest.level)}else if(!opts.
dedupe)break}function emit(...args){for(let{stream}of this.streams)typeof stream.emit=="function"&&stream.emit(...args)}
function flushSync(){for(let{stream}of this.streams)typeof stream.flushSync=="function"&&stream.flushSync()}function add(dest){
if(!dest)return this;let isStream=typeof dest.write=="function"||dest.stream,stream_=dest.write?dest:dest.stream;if(!isStream)
throw Error("stream object needs to implement either StreamEntry or DestinationStream interface");let{streams,streamLevels:streamLevels2}=this,
level;typeof dest.levelVal=="number"?level=dest.levelVal:typeof dest.level=="string"?level=streamLevels2[dest.level]:typeof dest.
level=="number"?level=dest.level:level=DEFAULT_INFO_LEVEL;let dest_={stream:stream_,level,levelVal:void 0,id:++res.lastId};
return streams.unshift(dest_),streams.sort(compareByLevel),this.minLevel=streams[0].level,this}function remove(id){let{streams}=this,
index=streams.findIndex(s=>s.id===id);return index>=0&&(streams.splice(index,1),streams.sort(compareByLevel),this.minLevel=
streams.length>0?streams[0].level:-1),this}function end(){for(let{stream}of this.streams)typeof stream.flushSync=="funct\
ion"&&stream.flushSync(),stream.end()}function clone(level){let streams=new Array(this.streams.length);for(let i=0;i<streams.
length;i++)streams[i]={level,stream:this.streams[i].stream};return{write,add,remove,emit,flushSync,end,minLevel:level,streams,
clone,[metadata]:!0,streamLevels}}}function compareByLevel(a,b){return a.level-b.level}function initLoopVar(length,dedupe){
return dedupe?length-1:0}function adjustLoopVar(i,dedupe){return dedupe?i-1:i+1}function checkLoopVar(i,length,dedupe){return dedupe?
i>=0:i<length}module2.exports=multistream}});var require_pino=__commonJS({"node_modules/pino/pino.js"(exports2,module2){"use strict";var os=require("node:os"),stdSerializers=require_pino_std_serializers(),
caller=require_caller(),redaction=require_redaction(),time=require_time(),proto=require_proto(),symbols=require_symbols(),
{configure}=require_safe_stable_stringify(),{assertDefaultLevelFound,mappings,genLsCache,genLevelComparison,assertLevelComparison}=require_levels(),
{DEFAULT_LEVELS,SORTING_ORDER}=require_constants(),{createArgsNormalizer,asChindings,buildSafeSonicBoom,buildFormatters,
stringify,normalizeDestFileDescriptor,noop}=require_tools(),{version}=require_meta(),{chindingsSym,redactFmtSym,serializersSym,
timeSym,timeSliceIndexSym,streamSym,stringifySym,stringifySafeSym,stringifiersSym,setLevelSym,endSym,formatOptsSym,messageKeySym,
errorKeySym,nestedKeySym,mixinSym,levelCompSym,useOnlyCustomLevelsSym,formattersSym,hooksSym,nestedKeyStrSym,mixinMergeStrategySym,
msgPrefixSym,transportUsesMultistreamSym}=symbols,{epochTime,nullTime}=time,{pid}=process,hostname=os.hostname(),defaultErrorSerializer=stdSerializers.
err,defaultOptions={level:"info",levelComparison:SORTING_ORDER.ASC,levels:DEFAULT_LEVELS,messageKey:"msg",errorKey:"err",
nestedKey:null,enabled:!0,base:{pid,hostname},serializers:Object.assign(Object.create(null),{err:defaultErrorSerializer}),
formatters:Object.assign(Object.create(null),{bindings(bindings){return bindings},level(label2,number){return{level:number}}}),
hooks:{logMethod:void 0,streamWrite:void 0},timestamp:epochTime,name:void 0,redact:null,customLevels:null,useOnlyCustomLevels:!1,
depthLimit:5,edgeLimit:100},normalize2=createArgsNormalizer(defaultOptions),serializers=Object.assign(Object.create(null),
stdSerializers);function pino2(...args){let instance={},{opts,stream}=normalize2(instance,caller(),...args);opts.level&&
typeof opts.level=="string"&&DEFAULT_LEVELS[opts.level.toLowerCase()]!==void 0&&(opts.level=opts.level.toLowerCase());let{
redact,crlf,serializers:serializers2,timestamp,messageKey,errorKey,nestedKey,base,name,level,customLevels,levelComparison,
mixin,mixinMergeStrategy,useOnlyCustomLevels,formatters,hooks,depthLimit,edgeLimit,onChild,msgPrefix}=opts,stringifySafe=configure(
{maximumDepth:depthLimit,maximumBreadth:edgeLimit}),allFormatters=buildFormatters(formatters.level,formatters.bindings,formatters.
log),stringifyFn=stringify.bind({[stringifySafeSym]:stringifySafe}),stringifiers=redact?Object.assign(Object.create(null),
redaction(redact,stringifyFn)):Object.create(null),formatOpts=redact?{stringify:stringifiers[redactFmtSym]}:{stringify:stringifyFn},
end="}"+(crlf?`\r
`:`
`),coreChindings=asChindings.bind(null,{[chindingsSym]:"",[serializersSym]:serializers2,[stringifiersSym]:stringifiers,[stringifySym]:stringify,
[stringifySafeSym]:stringifySafe,[formattersSym]:allFormatters}),chindings="";base!==null&&(name===void 0?chindings=coreChindings(
base):chindings=coreChindings(Object.assign({},base,{name})));let time2=timestamp instanceof Function?timestamp:timestamp?
epochTime:nullTime,timeSliceIndex=time2().indexOf(":")+1;if(useOnlyCustomLevels&&!customLevels)throw Error("customLevels\
 is required if useOnlyCustomLevels is set true");if(mixin&&typeof mixin!="function")throw Error(`Unknown mixin type "${typeof mixin}\
" - expected "function"`);if(msgPrefix&&typeof msgPrefix!="string")throw Error(`Unknown msgPrefix type "${typeof msgPrefix}\
" - expected "string"`);assertDefaultLevelFound(level,customLevels,useOnlyCustomLevels);let levels=mappings(customLevels,
useOnlyCustomLevels);if(stream&&stream[transportUsesMultistreamSym]===!0){let sampleLabel=typeof level=="string"?level:void 0;
(!sampleLabel||levels[sampleLabel]===void 0)&&(sampleLabel=Object.keys(levels)[0]);let sampleNumber=levels[sampleLabel],
ok=!1;try{let formatted=formatters.level(sampleLabel,sampleNumber);ok=formatted&&typeof formatted=="object"&&formatted.level===
sampleNumber}catch{ok=!1}ok||process.emitWarning('custom formatters.level detected with multiple transport targets/pipel\
ines; ensure logs include a numeric "level" field or they may be dropped',{code:"PINO_TRANSPORT_MULTI_TARGETS_LEVEL_FORM\
ATTER"})}typeof stream.emit=="function"&&stream.emit("message",{code:"PINO_CONFIG",config:{levels,messageKey,errorKey}}),
assertLevelComparison(levelComparison);let levelCompFunc=genLevelComparison(levelComparison);return Object.assign(instance,
{levels,[levelCompSym]:levelCompFunc,[useOnlyCustomLevelsSym]:useOnlyCustomLevels,[streamSym]:stream,[timeSym]:time2,[timeSliceIndexSym]:timeSliceIndex,
[stringifySym]:stringify,[stringifySafeSym]:stringifySafe,[stringifiersSym]:stringifiers,[endSym]:end,[formatOptsSym]:formatOpts,
[messageKeySym]:messageKey,[errorKeySym]:errorKey,[nestedKeySym]:nestedKey,[nestedKeyStrSym]:nestedKey?`,${JSON.stringify(
nestedKey)}:{`:"",[serializersSym]:serializers2,[mixinSym]:mixin,[mixinMergeStrategySym]:mixinMergeStrategy,[chindingsSym]:chindings,
[formattersSym]:allFormatters,[hooksSym]:hooks,silent:noop,onChild,[msgPrefixSym]:msgPrefix}),Object.setPrototypeOf(instance,
proto()),genLsCache(instance),instance[setLevelSym](level),instance}module2.exports=pino2;module2.exports.destination=(dest=process.
stdout.fd)=>typeof dest=="object"?(dest.dest=normalizeDestFileDescriptor(dest.dest||process.stdout.fd),buildSafeSonicBoom(
dest)):buildSafeSonicBoom({dest:normalizeDestFileDescriptor(dest),minLength:0});module2.exports.transport=require_transport();
module2.exports.multistream=require_multistream();module2.exports.levels=mappings();module2.exports.stdSerializers=serializers;
module2.exports.stdTimeFunctions=Object.assign({},time);module2.exports.symbols=symbols;module2.exports.version=version;
module2.exports.default=pino2;module2.exports.pino=pino2}});var require_ipaddr=__commonJS({"node_modules/ipaddr.js/lib/ipaddr.js"(exports2,module2){(function(root){"use strict";let ipv4Part="\
(0?\\d+|0x[a-f0-9]+)",ipv4Regexes={fourOctet:new RegExp(`^${ipv4Part}\\.${ipv4Part}\\.${ipv4Part}\\.${ipv4Part}$`,"i"),threeOctet:new RegExp(
`^${ipv4Part}\\.${ipv4Part}\\.${ipv4Part}$`,"i"),twoOctet:new RegExp(`^${ipv4Part}\\.${ipv4Part}$`,"i"),longValue:new RegExp(
`^${ipv4Part}$`,"i")},octalRegex=new RegExp("^0[0-7]+$","i"),hexRegex=new RegExp("^0x[a-f0-9]+$","i"),zoneIndex="%[0-9a-\
z]{1,}",ipv6Part="(?:[0-9a-f]+::?)+",ipv6Regexes={zoneIndex:new RegExp(zoneIndex,"i"),native:new RegExp(`^(::)?(${ipv6Part}\
)?([0-9a-f]+)?(::)?(${zoneIndex})?$`,"i"),deprecatedTransitional:new RegExp(`^(?:::)(${ipv4Part}\\.${ipv4Part}\\.${ipv4Part}\
\\.${ipv4Part}(${zoneIndex})?)$`,"i"),transitional:new RegExp(`^((?:${ipv6Part})|(?:::)(?:${ipv6Part})?)${ipv4Part}\\.${ipv4Part}\
\\.${ipv4Part}\\.${ipv4Part}(${zoneIndex})?$`,"i")};function expandIPv6(string,parts){if(string.indexOf("::")!==string.lastIndexOf(
"::"))return null;let colonCount=0,lastColon=-1,zoneId=(string.match(ipv6Regexes.zoneIndex)||[])[0],replacement,replacementCount;
for(zoneId&&(zoneId=zoneId.substring(1),string=string.replace(/%.+$/,""));(lastColon=string.indexOf(":",lastColon+1))>=0;)
colonCount++;if(string.substr(0,2)==="::"&&colonCount--,string.substr(-2,2)==="::"&&colonCount--,colonCount>=parts)return null;
for(replacementCount=parts-colonCount,replacement=":";replacementCount--;)replacement+="0:";return string=string.replace(
"::",replacement),string[0]===":"&&(string=string.slice(1)),string[string.length-1]===":"&&(string=string.slice(0,-1)),parts=
(function(){let ref=string.split(":"),results=[];for(let i=0;i<ref.length;i++)results.push(ref[i].length>4?NaN:parseInt(
ref[i],16));return results})(),{parts,zoneId}}function matchCIDR(first,second,partSize,cidrBits){if(first.length!==second.
length)throw new Error("ipaddr: cannot match CIDR for objects with different lengths");let part=0,shift;for(;cidrBits>0;){
if(shift=partSize-cidrBits,shift<0&&(shift=0),first[part]>>shift!==second[part]>>shift)return!1;cidrBits-=partSize,part+=
1}return!0}function parseIntAuto(string){if(hexRegex.test(string))return parseInt(string,16);if(string[0]==="0"&&!isNaN(
parseInt(string[1],10))){if(octalRegex.test(string))return parseInt(string,8);throw new Error(`ipaddr: cannot parse ${string}\
 as octal`)}return parseInt(string,10)}function padPart(part,length){for(;part.length<length;)part=`0${part}`;return part}
let ipaddr2={};ipaddr2.IPv4=(function(){function IPv4(octets){if(octets.length!==4)throw new Error("ipaddr: ipv4 octet c\
ount should be 4");let i,octet;for(i=0;i<octets.length;i++)if(octet=octets[i],!(0<=octet&&octet<=255))throw new Error("i\
paddr: ipv4 octet should fit in 8 bits");this.octets=octets}return IPv4.prototype.SpecialRanges={unspecified:[[new IPv4(
[0,0,0,0]),8]],broadcast:[[new IPv4([255,255,255,255]),32]],multicast:[[new IPv4([224,0,0,0]),4]],linkLocal:[[new IPv4([
169,254,0,0]),16]],loopback:[[new IPv4([127,0,0,0]),8]],carrierGradeNat:[[new IPv4([100,64,0,0]),10]],private:[[new IPv4(
[10,0,0,0]),8],[new IPv4([172,16,0,0]),12],[new IPv4([192,168,0,0]),16]],reserved:[[new IPv4([192,0,0,0]),24],[new IPv4(
[192,0,2,0]),24],[new IPv4([192,88,99,0]),24],[new IPv4([198,18,0,0]),15],[new IPv4([198,51,100,0]),24],[new IPv4([203,0,
113,0]),24],[new IPv4([240,0,0,0]),4]],as112:[[new IPv4([192,175,48,0]),24],[new IPv4([192,31,196,0]),24]],amt:[[new IPv4(
[192,52,193,0]),24]]},IPv4.prototype.kind=function(){return"ipv4"},IPv4.prototype.match=function(other,cidrRange){let ref;
if(cidrRange===void 0&&(ref=other,other=ref[0],cidrRange=ref[1]),other.kind()!=="ipv4")throw new Error("ipaddr: cannot m\
atch ipv4 address with non-ipv4 one");return matchCIDR(this.octets,other.octets,8,cidrRange)},IPv4.prototype.prefixLengthFromSubnetMask=
function(){let cidr=0,stop=!1,zerotable={0:8,128:7,192:6,224:5,240:4,248:3,252:2,254:1,255:0},i,octet,zeros;for(i=3;i>=0;i-=
1)if(octet=this.octets[i],octet in zerotable){if(zeros=zerotable[octet],stop&&zeros!==0)return null;zeros!==8&&(stop=!0),
cidr+=zeros}else return null;return 32-cidr},IPv4.prototype.range=function(){return ipaddr2.subnetMatch(this,this.SpecialRanges)},
IPv4.prototype.toByteArray=function(){return this.octets.slice(0)},IPv4.prototype.toIPv4MappedAddress=function(){return ipaddr2.
IPv6.parse(`::ffff:${this.toString()}`)},IPv4.prototype.toNormalizedString=function(){return this.toString()},IPv4.prototype.
toString=function(){return this.octets.join(".")},IPv4})(),ipaddr2.IPv4.broadcastAddressFromCIDR=function(string){try{let cidr=this.
parseCIDR(string),ipInterfaceOctets=cidr[0].toByteArray(),subnetMaskOctets=this.subnetMaskFromPrefixLength(cidr[1]).toByteArray(),
octets=[],i=0;for(;i<4;)octets.push(parseInt(ipInterfaceOctets[i],10)|parseInt(subnetMaskOctets[i],10)^255),i++;return new this(
octets)}catch(e){throw new Error("ipaddr: the address does not have IPv4 CIDR format",{cause:e})}},ipaddr2.IPv4.isIPv4=function(string){
return this.parser(string)!==null},ipaddr2.IPv4.isValid=function(string){try{return new this(this.parser(string)),!0}catch{
return!1}},ipaddr2.IPv4.isValidCIDR=function(string){try{return this.parseCIDR(string),!0}catch{return!1}},ipaddr2.IPv4.
isValidFourPartDecimal=function(string){return!!(ipaddr2.IPv4.isValid(string)&&string.match(/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){3}$/))},
ipaddr2.IPv4.isValidCIDRFourPartDecimal=function(string){let match=string.match(/^(.+)\/(\d+)$/);return!ipaddr2.IPv4.isValidCIDR(
string)||!match?!1:ipaddr2.IPv4.isValidFourPartDecimal(match[1])},ipaddr2.IPv4.networkAddressFromCIDR=function(string){let cidr,
i,ipInterfaceOctets,octets,subnetMaskOctets;try{for(cidr=this.parseCIDR(string),ipInterfaceOctets=cidr[0].toByteArray(),
subnetMaskOctets=this.subnetMaskFromPrefixLength(cidr[1]).toByteArray(),octets=[],i=0;i<4;)octets.push(parseInt(ipInterfaceOctets[i],
10)&parseInt(subnetMaskOctets[i],10)),i++;return new this(octets)}catch(e){throw new Error("ipaddr: the address does not\
 have IPv4 CIDR format",{cause:e})}},ipaddr2.IPv4.parse=function(string){let parts=this.parser(string);if(parts===null)throw new Error(
"ipaddr: string is not formatted like an IPv4 Address");return new this(parts)},ipaddr2.IPv4.parseCIDR=function(string){
let match;if(match=string.match(/^(.+)\/(\d+)$/)){let maskLength=parseInt(match[2]);if(maskLength>=0&&maskLength<=32){let parsed=[
this.parse(match[1]),maskLength];return Object.defineProperty(parsed,"toString",{value:function(){return this.join("/")}}),
parsed}}throw new Error("ipaddr: string is not formatted like an IPv4 CIDR range")},ipaddr2.IPv4.parser=function(string){
let match,part,value;if(match=string.match(ipv4Regexes.fourOctet))return(function(){let ref=match.slice(1,6),results=[];
for(let i=0;i<ref.length;i++)part=ref[i],results.push(parseIntAuto(part));return results})();if(match=string.match(ipv4Regexes.
longValue)){if(value=parseIntAuto(match[1]),value>4294967295||value<0)throw new Error("ipaddr: address outside defined r\
ange");return(function(){let results=[],shift;for(shift=0;shift<=24;shift+=8)results.push(value>>shift&255);return results})().
reverse()}else return(match=string.match(ipv4Regexes.twoOctet))?(function(){let ref=match.slice(1,4),results=[];if(value=
parseIntAuto(ref[1]),value>16777215||value<0)throw new Error("ipaddr: address outside defined range");return results.push(
parseIntAuto(ref[0])),results.push(value>>16&255),results.push(value>>8&255),results.push(value&255),results})():(match=
string.match(ipv4Regexes.threeOctet))?(function(){let ref=match.slice(1,5),results=[];if(value=parseIntAuto(ref[2]),value>
65535||value<0)throw new Error("ipaddr: address outside defined range");return results.push(parseIntAuto(ref[0])),results.
push(parseIntAuto(ref[1])),results.push(value>>8&255),results.push(value&255),results})():null},ipaddr2.IPv4.subnetMaskFromPrefixLength=
function(prefix){if(prefix=parseInt(prefix),Number.isNaN(prefix)||prefix<0||prefix>32)throw new Error("ipaddr: invalid I\
Pv4 prefix length");let octets=[0,0,0,0],j=0,filledOctetCount=Math.floor(prefix/8);for(;j<filledOctetCount;)octets[j]=255,
j++;return filledOctetCount<4&&(octets[filledOctetCount]=Math.pow(2,prefix%8)-1<<8-prefix%8),new this(octets)},ipaddr2.IPv6=
(function(){function IPv6(parts,zoneId){let i,part;if(parts.length===16)for(this.parts=[],i=0;i<=14;i+=2)this.parts.push(
parts[i]<<8|parts[i+1]);else if(parts.length===8)this.parts=parts;else throw new Error("ipaddr: ipv6 part count should b\
e 8 or 16");for(i=0;i<this.parts.length;i++)if(part=this.parts[i],!(0<=part&&part<=65535))throw new Error("ipaddr: ipv6 \
part should fit in 16 bits");zoneId&&(this.zoneId=zoneId)}return IPv6.prototype.SpecialRanges={unspecified:[new IPv6([0,
0,0,0,0,0,0,0]),128],linkLocal:[new IPv6([65152,0,0,0,0,0,0,0]),10],multicast:[new IPv6([65280,0,0,0,0,0,0,0]),8],loopback:[
new IPv6([0,0,0,0,0,0,0,1]),128],uniqueLocal:[new IPv6([64512,0,0,0,0,0,0,0]),7],ipv4Mapped:[new IPv6([0,0,0,0,0,65535,0,
0]),96],deprecatedSiteLocal:[new IPv6([65216,0,0,0,0,0,0,0]),10],discard:[new IPv6([256,0,0,0,0,0,0,0]),64],rfc6145:[new IPv6(
[0,0,0,0,65535,0,0,0]),96],rfc6052:[[new IPv6([100,65435,0,0,0,0,0,0]),96],[new IPv6([100,65435,1,0,0,0,0,0]),48]],"6to4":[
new IPv6([8194,0,0,0,0,0,0,0]),16],teredo:[new IPv6([8193,0,0,0,0,0,0,0]),32],benchmarking:[new IPv6([8193,2,0,0,0,0,0,0]),
48],amt:[new IPv6([8193,3,0,0,0,0,0,0]),32],as112v6:[[new IPv6([8193,4,274,0,0,0,0,0]),48],[new IPv6([9760,79,32768,0,0,
0,0,0]),48]],deprecatedOrchid:[new IPv6([8193,16,0,0,0,0,0,0]),28],orchid2:[new IPv6([8193,32,0,0,0,0,0,0]),28],droneRemoteIdProtocolEntityTags:[
new IPv6([8193,48,0,0,0,0,0,0]),28],segmentRouting:[new IPv6([24320,0,0,0,0,0,0,0]),16],reserved:[[new IPv6([8193,0,0,0,
0,0,0,0]),23],[new IPv6([8193,3512,0,0,0,0,0,0]),32],[new IPv6([16383,0,0,0,0,0,0,0]),20]]},IPv6.prototype.isIPv4MappedAddress=
function(){return this.range()==="ipv4Mapped"},IPv6.prototype.kind=function(){return"ipv6"},IPv6.prototype.match=function(other,cidrRange){
let ref;if(cidrRange===void 0&&(ref=other,other=ref[0],cidrRange=ref[1]),other.kind()!=="ipv6")throw new Error("ipaddr: \
cannot match ipv6 address with non-ipv6 one");return matchCIDR(this.parts,other.parts,16,cidrRange)},IPv6.prototype.prefixLengthFromSubnetMask=
function(){let cidr=0,stop=!1,zerotable={0:16,32768:15,49152:14,57344:13,61440:12,63488:11,64512:10,65024:9,65280:8,65408:7,
65472:6,65504:5,65520:4,65528:3,65532:2,65534:1,65535:0},part,zeros;for(let i=7;i>=0;i-=1)if(part=this.parts[i],part in zerotable){
if(zeros=zerotable[part],stop&&zeros!==0)return null;zeros!==16&&(stop=!0),cidr+=zeros}else return null;return 128-cidr},
IPv6.prototype.range=function(){return ipaddr2.subnetMatch(this,this.SpecialRanges)},IPv6.prototype.toByteArray=function(){
let part,bytes=[],ref=this.parts;for(let i=0;i<ref.length;i++)part=ref[i],bytes.push(part>>8),bytes.push(part&255);return bytes},
IPv6.prototype.toFixedLengthString=function(){let addr=(function(){let results=[];for(let i=0;i<this.parts.length;i++)results.
push(padPart(this.parts[i].toString(16),4));return results}).call(this).join(":"),suffix="";return this.zoneId&&(suffix=
`%${this.zoneId}`),addr+suffix},IPv6.prototype.toIPv4Address=function(){if(!this.isIPv4MappedAddress())throw new Error("\
ipaddr: trying to convert a generic ipv6 address to ipv4");let ref=this.parts.slice(-2),high=ref[0],low=ref[1];return new ipaddr2.
IPv4([high>>8,high&255,low>>8,low&255])},IPv6.prototype.toNormalizedString=function(){let addr=(function(){let results=[];
for(let i=0;i<this.parts.length;i++)results.push(this.parts[i].toString(16));return results}).call(this).join(":"),suffix="";
return this.zoneId&&(suffix=`%${this.zoneId}`),addr+suffix},IPv6.prototype.toRFC5952String=function(){let regex=/((^|:)(0(:|$)){2,})/g,
suffix="";this.zoneId&&(suffix=`%${this.zoneId}`);let normalized=this.toNormalizedString(),string=normalized.slice(0,normalized.
length-suffix.length),bestMatchIndex=0,bestMatchLength=-1,bestMatchGroups=-1,match;for(;match=regex.exec(string);){let groups=(match[0].
match(/0/g)||[]).length;groups>bestMatchGroups&&(bestMatchGroups=groups,bestMatchIndex=match.index,bestMatchLength=match[0].
length)}return bestMatchLength<0?string+suffix:`${string.substring(0,bestMatchIndex)}::${string.substring(bestMatchIndex+
bestMatchLength)}${suffix}`},IPv6.prototype.toString=function(){return this.toRFC5952String()},IPv6})(),ipaddr2.IPv6.broadcastAddressFromCIDR=
function(string){try{let cidr=this.parseCIDR(string),ipInterfaceOctets=cidr[0].toByteArray(),subnetMaskOctets=this.subnetMaskFromPrefixLength(
cidr[1]).toByteArray(),octets=[],i=0;for(;i<16;)octets.push(parseInt(ipInterfaceOctets[i],10)|parseInt(subnetMaskOctets[i],
10)^255),i++;return new this(octets)}catch(e){throw new Error("ipaddr: the address does not have IPv6 CIDR format",{cause:e})}},
ipaddr2.IPv6.isIPv6=function(string){return this.parser(string)!==null},ipaddr2.IPv6.isValid=function(string){if(typeof string==
"string"&&string.indexOf(":")===-1)return!1;try{let addr=this.parser(string);return new this(addr.parts,addr.zoneId),!0}catch{
return!1}},ipaddr2.IPv6.isValidCIDR=function(string){if(typeof string=="string"&&string.indexOf(":")===-1)return!1;try{return this.
parseCIDR(string),!0}catch{return!1}},ipaddr2.IPv6.networkAddressFromCIDR=function(string){let cidr,i,ipInterfaceOctets,
octets,subnetMaskOctets;try{for(cidr=this.parseCIDR(string),ipInterfaceOctets=cidr[0].toByteArray(),subnetMaskOctets=this.
subnetMaskFromPrefixLength(cidr[1]).toByteArray(),octets=[],i=0;i<16;)octets.push(parseInt(ipInterfaceOctets[i],10)&parseInt(
subnetMaskOctets[i],10)),i++;return new this(octets)}catch(e){throw new Error("ipaddr: the address does not have IPv6 CI\
DR format",{cause:e})}},ipaddr2.IPv6.parse=function(string){let addr=this.parser(string);if(addr===null)throw new Error(
"ipaddr: string is not formatted like an IPv6 Address");return new this(addr.parts,addr.zoneId)},ipaddr2.IPv6.parseCIDR=
function(string){let maskLength,match,parsed;if((match=string.match(/^(.+)\/(\d+)$/))&&(maskLength=parseInt(match[2]),maskLength>=
0&&maskLength<=128))return parsed=[this.parse(match[1]),maskLength],Object.defineProperty(parsed,"toString",{value:function(){
return this.join("/")}}),parsed;throw new Error("ipaddr: string is not formatted like an IPv6 CIDR range")},ipaddr2.IPv6.
parser=function(string){let addr,i,match,octet,octets,zoneId;if(match=string.match(ipv6Regexes.deprecatedTransitional))return this.
parser(`::ffff:${match[1]}`);if(ipv6Regexes.native.test(string))return expandIPv6(string,8);if((match=string.match(ipv6Regexes.
transitional))&&(zoneId=match[6]||"",addr=match[1],match[1].endsWith("::")||(addr=addr.slice(0,-1)),addr=expandIPv6(addr+
zoneId,6),addr&&addr.parts)){for(octets=[parseInt(match[2]),parseInt(match[3]),parseInt(match[4]),parseInt(match[5])],i=
0;i<octets.length;i++)if(octet=octets[i],!(0<=octet&&octet<=255))return null;return addr.parts.push(octets[0]<<8|octets[1]),
addr.parts.push(octets[2]<<8|octets[3]),{parts:addr.parts,zoneId:addr.zoneId}}return null},ipaddr2.IPv6.subnetMaskFromPrefixLength=
function(prefix){if(prefix=parseInt(prefix),Number.isNaN(prefix)||prefix<0||prefix>128)throw new Error("ipaddr: invalid \
IPv6 prefix length");let octets=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],j=0,filledOctetCount=Math.floor(prefix/8);for(;j<filledOctetCount;)
octets[j]=255,j++;return filledOctetCount<16&&(octets[filledOctetCount]=Math.pow(2,prefix%8)-1<<8-prefix%8),new this(octets)},
ipaddr2.fromByteArray=function(bytes){let length=bytes.length;if(length===4)return new ipaddr2.IPv4(bytes);if(length===16)
return new ipaddr2.IPv6(bytes);throw new Error("ipaddr: the binary input is neither an IPv6 nor IPv4 address")},ipaddr2.
isValid=function(string){return ipaddr2.IPv6.isValid(string)||ipaddr2.IPv4.isValid(string)},ipaddr2.isValidCIDR=function(string){
return ipaddr2.IPv6.isValidCIDR(string)||ipaddr2.IPv4.isValidCIDR(string)},ipaddr2.parse=function(string){if(ipaddr2.IPv6.
isValid(string))return ipaddr2.IPv6.parse(string);if(ipaddr2.IPv4.isValid(string))return ipaddr2.IPv4.parse(string);throw new Error(
"ipaddr: the address has neither IPv6 nor IPv4 format")},ipaddr2.parseCIDR=function(string){try{return ipaddr2.IPv6.parseCIDR(
string)}catch{try{return ipaddr2.IPv4.parseCIDR(string)}catch(e){throw new Error("ipaddr: the address has neither IPv6 n\
or IPv4 CIDR format",{cause:e})}}},ipaddr2.process=function(string){let addr=this.parse(string);return addr.kind()==="ip\
v6"&&addr.isIPv4MappedAddress()?addr.toIPv4Address():addr},ipaddr2.subnetMatch=function(address,rangeList,defaultName){let i,
rangeName,rangeSubnets,subnet;defaultName==null&&(defaultName="unicast");for(rangeName in rangeList)if(Object.prototype.
hasOwnProperty.call(rangeList,rangeName)){for(rangeSubnets=rangeList[rangeName],rangeSubnets[0]&&!(rangeSubnets[0]instanceof
Array)&&(rangeSubnets=[rangeSubnets]),i=0;i<rangeSubnets.length;i++)if(subnet=rangeSubnets[i],address.kind()===subnet[0].
kind()&&address.match.apply(address,subnet))return rangeName}return defaultName},typeof module2<"u"&&module2.exports?module2.
exports=ipaddr2:root.ipaddr=ipaddr2})(exports2)}});var import_node_net=require("node:net");var systemClock={now:()=>Date.now(),elapsed:()=>performance.now(),wakeAfter(delayMs,wake){let timer=setTimeout(wake,Math.
max(0,Math.min(delayMs,2147483647)));return()=>clearTimeout(timer)}};var SEQUENTIAL_ATTEMPT_MS=2e3;var import_pino=__toESM(require_pino(),1);var HIDDEN="[redacted]";function redactedUrl(value){let[,scheme="",rest=""]=/^([a-z][a-z0-9+.-]*:\/\/)?(.*)$/is.exec(value)??
[],hidden=isPlainWebAddress(value)?0:rest.lastIndexOf("@")+1,displayed2=rest.slice(hidden).replace(/[?#].+$/s,`?${HIDDEN}`);
return`${scheme}${hidden>0?`${HIDDEN}@`:""}${displayed2}`}function isPlainWebAddress(value){if(!/^https?:\/\//i.test(value)||
!URL.canParse(value))return!1;let{username,password}=new URL(value);return username===""&&password===""}var import_node_zlib=require("node:zlib");var import_node_crypto=require("node:crypto"),systemRandom=reserved(length=>(0,import_node_crypto.randomBytes)(length)),
RESERVE_BYTES=4096;function reserved(draw){let reserve=new Uint8Array;return{bytes(length){if(length>RESERVE_BYTES/16)return draw(
length);reserve.length<length&&(reserve=draw(RESERVE_BYTES));let bytes=Uint8Array.from(reserve.subarray(0,length));return reserve.
fill(0,0,length),reserve=reserve.subarray(length),bytes}}}function fraction(random){let[a=0,b=0,c=0,d=0]=random.bytes(4);return((a<<24|b<<16|c<<8|d)>>>0)/2**32}var SECRET_KINDS=["pk","sk","col","vm","link","inv","session","enrol","pair","verify"],BASE62="0123456789ABCDEFGHIJKLMNO\
PQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";var CHECKSUM_CHARS=6,FORM=/^svc_([a-z]{2,7})_([0-9A-Za-z]{1,64})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,KEY_KINDS=new Set([
"pk","sk","col","vm"]);function parseKey(text2){let parsed=parse(text2);if(!(!parsed||!KEY_KINDS.has(parsed.kind)))return{kind:parsed.kind,id:parsed.
id}}function parse(text2){let match=FORM.exec(text2);if(!(!match||checksum(text2.slice(0,-CHECKSUM_CHARS))!==match[4]))return{
kind:match[1]??"",id:match[2]??""}}function checksum(body){return base62(BigInt((0,import_node_zlib.crc32)(body)),CHECKSUM_CHARS)}function base62(value,width){let text2="";for(let rest=value;text2.length<width;rest/=62n)text2=BASE62.charAt(Number(rest%
62n))+text2;return text2}var OUR_SECRETS=new RegExp(`\\b(svc_(?:${SECRET_KINDS.join("|")})_[A-Za-z0-9]+_)[A-Za-z0-9]{8,}`,"g");function standardErrorLines(){let out=(0,import_pino.destination)({dest:2,sync:!1});return line=>{out.write(line)}}function beforeDashes(args){let place=args.indexOf("--");return place<0?args:args.slice(0,place)}function processSurroundings(){return(0,import_node_net.setDefaultAutoSelectFamilyAttemptTimeout)(SEQUENTIAL_ATTEMPT_MS),
{environment:process.env,stdout:text2=>{process.stdout.write(text2)},stderr:text2=>{process.stderr.write(text2)},log:standardErrorLines(),
isTerminal:process.stderr.isTTY===!0,isStdoutTerminal:process.stdout.isTTY===!0,stdoutColumns:process.stdout.columns,onSignal:listener=>{
let signals=["SIGINT","SIGTERM","SIGHUP"];for(let signal of signals)process.on(signal,listener);return()=>{for(let signal of signals)
process.off(signal,listener)}},onReaderGone:watchOutput(),exitNow:code2=>process.exit(code2)}}function watchOutput(){let listeners=[];
return process.stdout.on("error",error2=>{if(error2.code==="EPIPE"){for(let listener of listeners)listener();return}process.
stderr.write(`Standard output could not be written: ${error2.message}
`),process.exit(1)}),process.stderr.on("error",()=>{}),listener=>{listeners.push(listener)}}function pause(clock,ms,signal){return new Sleep(clock).pause(ms,signal)}var Sleep=class{#clock;#ends=new Set;constructor(clock){
this.#clock=clock}pause(ms,signal){return new Promise(resolve=>{if(signal?.aborted)return resolve();let end=()=>{cancel?.(),
this.#ends.delete(end),signal?.removeEventListener("abort",end),resolve()},cancel=Number.isFinite(ms)?this.#clock.wakeAfter(
ms,end):void 0;this.#ends.add(end),signal?.addEventListener("abort",end,{once:!0})})}wake(){for(let end of[...this.#ends])
end()}};function protoCamelCase(snakeCase2){let capNext=!1,b=[];for(let i=0;i<snakeCase2.length;i++){let c=snakeCase2.charAt(i);
switch(c){case"_":capNext=!0;break;case"0":case"1":case"2":case"3":case"4":case"5":case"6":case"7":case"8":case"9":b.push(
c),capNext=!1;break;default:capNext&&(capNext=!1,c=c.toUpperCase()),b.push(c);break}}return b.join("")}function protoSnakeCase(lowerCamelCase){
return lowerCamelCase.replace(/[A-Z]/g,letter=>"_"+letter.toLowerCase())}var reservedObjectProperties=new Set(["construc\
tor","toString","toJSON","valueOf"]);function safeObjectProperty(name){return reservedObjectProperties.has(name)?name+"$":
name}function varint64read(){let buf=this.buf,pos=this.pos,lo=0,hi=0;for(let shift=0;shift<28;shift+=7){let b=buf[pos++];if(lo|=
(b&127)<<shift,(b&128)==0){this.pos=pos,this.assertBounds(),this.varint64Lo=lo,this.varint64Hi=hi;return}}let middleByte=buf[pos++];
if(lo|=(middleByte&15)<<28,hi=(middleByte&112)>>4,(middleByte&128)==0){this.pos=pos,this.assertBounds(),this.varint64Lo=
lo,this.varint64Hi=hi;return}for(let shift=3;shift<=31;shift+=7){let b=buf[pos++];if(hi|=(b&127)<<shift,(b&128)==0){this.
pos=pos,this.assertBounds(),this.varint64Lo=lo,this.varint64Hi=hi;return}}throw new Error("invalid varint")}var TWO_PWR_32_DBL=4294967296;function int64FromString(dec){let minus=dec[0]==="-";minus&&(dec=dec.slice(1));let base=1e6,
lowBits=0,highBits=0;function add1e6digit(begin,end){let digit1e6=Number(dec.slice(begin,end));highBits*=base,lowBits=lowBits*
base+digit1e6,lowBits>=TWO_PWR_32_DBL&&(highBits=highBits+(lowBits/TWO_PWR_32_DBL|0),lowBits=lowBits%TWO_PWR_32_DBL)}return add1e6digit(
-24,-18),add1e6digit(-18,-12),add1e6digit(-12,-6),add1e6digit(-6),minus?negate(lowBits,highBits):newBits(lowBits,highBits)}
function int64ToString(lo,hi){let bits=newBits(lo,hi),negative=bits.hi&2147483648;negative&&(bits=negate(bits.lo,bits.hi));
let result=uInt64ToString(bits.lo,bits.hi);return negative?"-"+result:result}function uInt64ToString(lo,hi){if({lo,hi}=toUnsigned(
lo,hi),hi<=2097151)return String(TWO_PWR_32_DBL*hi+lo);let low=lo&16777215,mid=(lo>>>24|hi<<8)&16777215,high=hi>>16&65535,
digitA=low+mid*6777216+high*6710656,digitB=mid+high*8147497,digitC=high*2,base=1e7;return digitA>=base&&(digitB+=Math.floor(
digitA/base),digitA%=base),digitB>=base&&(digitC+=Math.floor(digitB/base),digitB%=base),digitC.toString()+decimalFrom1e7WithLeadingZeros(
digitB)+decimalFrom1e7WithLeadingZeros(digitA)}function toUnsigned(lo,hi){return{lo:lo>>>0,hi:hi>>>0}}function newBits(lo,hi){
return{lo:lo|0,hi:hi|0}}function negate(lowBits,highBits){return highBits=~highBits,lowBits?lowBits=~lowBits+1:highBits+=
1,newBits(lowBits,highBits)}var decimalFrom1e7WithLeadingZeros=digit1e7=>{let partial=String(digit1e7);return"0000000".slice(
partial.length)+partial};function varint32write(value,bytes){if(value>>>0<128){bytes.push(value);return}if(value>=0){for(;value>
127;)bytes.push(value&127|128),value=value>>>7;bytes.push(value)}else{for(let i=0;i<9;i++)bytes.push(value&127|128),value=
value>>7;bytes.push(1)}}function varint32read(){let b=this.buf[this.pos++];if((b&128)===0)return this.assertBounds(),b;let result=b&
127;if(b=this.buf[this.pos++],result|=(b&127)<<7,(b&128)===0)return this.assertBounds(),result;if(b=this.buf[this.pos++],
result|=(b&127)<<14,(b&128)===0)return this.assertBounds(),result;if(b=this.buf[this.pos++],result|=(b&127)<<21,(b&128)===
0)return this.assertBounds(),result;b=this.buf[this.pos++],result|=(b&15)<<28;for(let readBytes=5;(b&128)!==0&&readBytes<
10;readBytes++)b=this.buf[this.pos++];if((b&128)!==0)throw new Error("invalid varint");return this.assertBounds(),result>>>
0}var protoInt64=makeInt64Support();function makeInt64Support(){let dv=new DataView(new ArrayBuffer(8));if(typeof BigInt==
"function"&&typeof dv.getBigInt64=="function"&&typeof dv.getBigUint64=="function"&&typeof dv.setBigInt64=="function"&&typeof dv.
setBigUint64=="function"&&(!!globalThis.Deno||!!globalThis.Bun||typeof process!="object"||typeof process.env!="object"||
process.env.BUF_BIGINT_DISABLE!=="1")){let MIN=BigInt("-9223372036854775808"),MAX=BigInt("9223372036854775807"),UMIN=BigInt(
"0"),UMAX=BigInt("18446744073709551615");return{zero:BigInt(0),supported:!0,parse(value){let bi=typeof value=="bigint"?value:
BigInt(value);if(bi>MAX||bi<MIN)throw new Error(`invalid int64: ${value}`);return bi},uParse(value){let bi=typeof value==
"bigint"?value:BigInt(value);if(bi>UMAX||bi<UMIN)throw new Error(`invalid uint64: ${value}`);return bi},enc(value){return dv.
setBigInt64(0,this.parse(value),!0),{lo:dv.getInt32(0,!0),hi:dv.getInt32(4,!0)}},uEnc(value){return dv.setBigInt64(0,this.
uParse(value),!0),{lo:dv.getInt32(0,!0),hi:dv.getInt32(4,!0)}},dec(lo,hi){return dv.setInt32(0,lo,!0),dv.setInt32(4,hi,!0),
dv.getBigInt64(0,!0)},uDec(lo,hi){return dv.setInt32(0,lo,!0),dv.setInt32(4,hi,!0),dv.getBigUint64(0,!0)}}}return{zero:"\
0",supported:!1,parse(value){return typeof value!="string"&&(value=value.toString()),assertInt64String(value),value},uParse(value){
return typeof value!="string"&&(value=value.toString()),assertUInt64String(value),value},enc(value){return typeof value!=
"string"&&(value=value.toString()),assertInt64String(value),int64FromString(value)},uEnc(value){return typeof value!="st\
ring"&&(value=value.toString()),assertUInt64String(value),int64FromString(value)},dec(lo,hi){return int64ToString(lo,hi)},
uDec(lo,hi){return uInt64ToString(lo,hi)}}}function assertInt64String(value){if(!/^-?[0-9]+$/.test(value))throw new Error(
"invalid int64: "+value)}function assertUInt64String(value){if(!/^[0-9]+$/.test(value))throw new Error("invalid uint64: "+
value)}var ScalarType;(function(ScalarType2){ScalarType2[ScalarType2.DOUBLE=1]="DOUBLE",ScalarType2[ScalarType2.FLOAT=2]="FLOAT",
ScalarType2[ScalarType2.INT64=3]="INT64",ScalarType2[ScalarType2.UINT64=4]="UINT64",ScalarType2[ScalarType2.INT32=5]="IN\
T32",ScalarType2[ScalarType2.FIXED64=6]="FIXED64",ScalarType2[ScalarType2.FIXED32=7]="FIXED32",ScalarType2[ScalarType2.BOOL=
8]="BOOL",ScalarType2[ScalarType2.STRING=9]="STRING",ScalarType2[ScalarType2.BYTES=12]="BYTES",ScalarType2[ScalarType2.UINT32=
13]="UINT32",ScalarType2[ScalarType2.SFIXED32=15]="SFIXED32",ScalarType2[ScalarType2.SFIXED64=16]="SFIXED64",ScalarType2[ScalarType2.
SINT32=17]="SINT32",ScalarType2[ScalarType2.SINT64=18]="SINT64"})(ScalarType||(ScalarType={}));function scalarZeroValue(type,longAsString){switch(type){case ScalarType.STRING:return"";case ScalarType.BOOL:return!1;case ScalarType.
DOUBLE:case ScalarType.FLOAT:return 0;case ScalarType.INT64:case ScalarType.UINT64:case ScalarType.SFIXED64:case ScalarType.
FIXED64:case ScalarType.SINT64:return longAsString?"0":protoInt64.zero;case ScalarType.BYTES:return new Uint8Array(0);default:
return 0}}function isScalarZeroValue(type,value){switch(type){case ScalarType.BOOL:return value===!1;case ScalarType.STRING:
return value==="";case ScalarType.BYTES:return value instanceof Uint8Array&&!value.byteLength;case ScalarType.DOUBLE:case ScalarType.
FLOAT:return Object.is(value,0);default:return value==0}}var IMPLICIT=2,unsafeLocal=Symbol.for("reflect unsafe local");function unsafeOneofCase(target,oneof){let c=target[oneof.
localName].case;return c===void 0?c:oneof.fields.find(f=>f.localName===c)}function unsafeIsSet(target,field){let name=field.
localName;if(field.oneof)return target[field.oneof.localName].case===name;if(field.presence!=IMPLICIT)return target[name]!==
void 0&&Object.prototype.hasOwnProperty.call(target,name);switch(field.fieldKind){case"list":return target[name].length>
0;case"map":return Object.keys(target[name]).length>0;case"scalar":return!isScalarZeroValue(field.scalar,target[name]);case"\
enum":return target[name]!==field.enum.values[0].number}throw new Error("message field with implicit presence")}function unsafeIsSetExplicit(target,localName){
return Object.prototype.hasOwnProperty.call(target,localName)&&target[localName]!==void 0}function unsafeGet(target,field){
if(field.oneof){let oneof=target[field.oneof.localName];return oneof.case===field.localName?oneof.value:void 0}return target[field.
localName]}function unsafeSet(target,field,value){field.oneof?target[field.oneof.localName]={case:field.localName,value}:
target[field.localName]=value}function setOwn(obj,key,value){key==="__proto__"?Object.defineProperty(obj,"__proto__",{value,
writable:!0,enumerable:!0,configurable:!0}):obj[key]=value}function getOwn(obj,key){return Object.prototype.hasOwnProperty.
call(obj,key)?obj[key]:void 0}function unsafeClear(target,field){let name=field.localName;if(field.oneof){let oneofLocalName=field.
oneof.localName;target[oneofLocalName].case===name&&(target[oneofLocalName]={case:void 0})}else if(field.presence!=IMPLICIT)
delete target[name];else switch(field.fieldKind){case"map":target[name]={};break;case"list":target[name]=[];break;case"e\
num":target[name]=field.enum.values[0].number;break;case"scalar":target[name]=scalarZeroValue(field.scalar,field.longAsString);
break}}function restoreJsonNames(message){for(let f of message.field)unsafeIsSetExplicit(f,"jsonName")||(f.jsonName=protoCamelCase(
f.name));message.nestedType.forEach(restoreJsonNames)}function parseTextFormatEnumValue(descEnum,value){let enumValue=descEnum.values.find(v=>v.name===value);if(!enumValue)throw new Error(
`cannot parse ${descEnum} default value: ${value}`);return enumValue.number}function parseTextFormatScalarValue(type,value){
switch(type){case ScalarType.STRING:return value;case ScalarType.BYTES:{let u=unescapeBytesDefaultValue(value);if(u===!1)
throw new Error(`cannot parse ${ScalarType[type]} default value: ${value}`);return u}case ScalarType.INT64:case ScalarType.
SFIXED64:case ScalarType.SINT64:return protoInt64.parse(value);case ScalarType.UINT64:case ScalarType.FIXED64:return protoInt64.
uParse(value);case ScalarType.DOUBLE:case ScalarType.FLOAT:switch(value){case"inf":return Number.POSITIVE_INFINITY;case"\
-inf":return Number.NEGATIVE_INFINITY;case"nan":return Number.NaN;default:return parseFloat(value)}case ScalarType.BOOL:
return value==="true";case ScalarType.INT32:case ScalarType.UINT32:case ScalarType.SINT32:case ScalarType.FIXED32:case ScalarType.
SFIXED32:return parseInt(value,10)}}function unescapeBytesDefaultValue(str){let b=[],input={tail:str,c:"",next(){return this.
tail.length==0?!1:(this.c=this.tail[0],this.tail=this.tail.substring(1),!0)},take(n){if(this.tail.length>=n){let r=this.
tail.substring(0,n);return this.tail=this.tail.substring(n),r}return!1}};for(;input.next();)switch(input.c){case"\\":if(input.
next())switch(input.c){case"\\":b.push(input.c.charCodeAt(0));break;case"b":b.push(8);break;case"f":b.push(12);break;case"\
n":b.push(10);break;case"r":b.push(13);break;case"t":b.push(9);break;case"v":b.push(11);break;case"0":case"1":case"2":case"\
3":case"4":case"5":case"6":case"7":{let s=input.c,t=input.take(2);if(t===!1)return!1;let n=parseInt(s+t,8);if(Number.isNaN(
n))return!1;b.push(n);break}case"x":{let s=input.c,t=input.take(2);if(t===!1)return!1;let n=parseInt(s+t,16);if(Number.isNaN(
n))return!1;b.push(n);break}case"u":{let s=input.c,t=input.take(4);if(t===!1)return!1;let n=parseInt(s+t,16);if(Number.isNaN(
n))return!1;let chunk=new Uint8Array(4);new DataView(chunk.buffer).setInt32(0,n,!0),b.push(chunk[0],chunk[1],chunk[2],chunk[3]);
break}case"U":{let s=input.c,t=input.take(8);if(t===!1)return!1;let tc=protoInt64.uEnc(s+t),chunk=new Uint8Array(8),view=new DataView(
chunk.buffer);view.setInt32(0,tc.lo,!0),view.setInt32(4,tc.hi,!0),b.push(chunk[0],chunk[1],chunk[2],chunk[3],chunk[4],chunk[5],
chunk[6],chunk[7]);break}}break;default:b.push(input.c.charCodeAt(0))}return new Uint8Array(b)}function*nestedTypes(desc){switch(desc.kind){case"file":for(let message of desc.messages)yield message,yield*nestedTypes(
message);yield*desc.enums,yield*desc.services,yield*desc.extensions;break;case"message":for(let message of desc.nestedMessages)
yield message,yield*nestedTypes(message);yield*desc.nestedEnums,yield*desc.nestedExtensions;break}}var te;function configureTextEncoding(textEncoding){var _a;te=Object.assign(Object.assign({},textEncoding),{encodeUtf8Into:(_a=
textEncoding.encodeUtf8Into)!==null&&_a!==void 0?_a:emulateEncodeInto(textEncoding.encodeUtf8.bind(textEncoding))})}function getTextEncoding(){
if(!te){let globals=globalThis;if(!globals.TextEncoder||!globals.TextDecoder)throw new Error("encoding API missing: inst\
all TextEncoder and TextDecoder on globalThis");let textEncoder=new globals.TextEncoder,textDecoder=new globals.TextDecoder(
"utf-8",{ignoreBOM:!0}),textDecoderStrict,config={encodeUtf8(text2){return textEncoder.encode(text2)},decodeUtf8(bytes,strict){
return strict?(textDecoderStrict||(textDecoderStrict=new globals.TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0})),textDecoderStrict.
decode(bytes)):textDecoder.decode(bytes)},checkUtf8(text2){try{return encodeURIComponent(text2),!0}catch{return!1}}};textEncoder.
encodeInto&&(config.encodeUtf8Into=textEncoder.encodeInto.bind(textEncoder));let nativeStringIsWellFormed=String.prototype.
isWellFormed;nativeStringIsWellFormed&&(config.checkUtf8=text2=>nativeStringIsWellFormed.call(text2)),configureTextEncoding(
config)}return te}function emulateEncodeInto(encodeUtf8){return(text2,dest)=>{let bytes=encodeUtf8(text2);return dest.set(
bytes),{written:bytes.byteLength}}}var WireType;(function(WireType2){WireType2[WireType2.Varint=0]="Varint",WireType2[WireType2.Bit64=1]="Bit64",WireType2[WireType2.
LengthDelimited=2]="LengthDelimited",WireType2[WireType2.StartGroup=3]="StartGroup",WireType2[WireType2.EndGroup=4]="End\
Group",WireType2[WireType2.Bit32=5]="Bit32"})(WireType||(WireType={}));var UINT32_MAX=4294967295,INT32_MAX=2147483647,INT32_MIN=-2147483648,BinaryWriter=class{constructor(encodeUtf8){this.stackPos=
[],this.encodeUtf8Into=encodeUtf8?emulateEncodeInto(encodeUtf8):getTextEncoding().encodeUtf8Into,this.buffer=EMPTY_BUFFER,
this.viewCache=EMPTY_VIEW,this.pos=0}ensureCapacity(size){let required=this.pos+size;if(required>this.buffer.length){let newLen=this.
buffer.length||INITIAL_SIZE;for(;newLen<required;)newLen*=2;let newBuf=new Uint8Array(newLen);this.pos>0&&newBuf.set(this.
buffer),this.buffer=newBuf}}view(){let bytes=this.buffer,view=this.viewCache;if(view.byteLength===bytes.byteLength)return view;
let newView=new DataView(bytes.buffer);return this.viewCache=newView,newView}finish(){let result=this.buffer.slice(0,this.
pos);return this.pos=0,this.stackPos=[],result}fork(){return this.stackPos.push(this.pos),this.ensureCapacity(DEFAULT_LEN_PREFIX_SIZE),
this.buffer[this.pos++]=0,this}join(){let forkPos=this.stackPos.pop();if(forkPos===void 0)throw new Error("invalid state\
, fork stack empty");let len=this.pos-forkPos-DEFAULT_LEN_PREFIX_SIZE,lenPrefixSize=varint32Size(len);return lenPrefixSize>
DEFAULT_LEN_PREFIX_SIZE&&(this.ensureCapacity(lenPrefixSize-DEFAULT_LEN_PREFIX_SIZE),this.buffer.copyWithin(forkPos+lenPrefixSize,
forkPos+DEFAULT_LEN_PREFIX_SIZE,this.pos)),this.pos=forkPos,this.uint32(len),this.pos+=len,this}tag(fieldNo,type){return this.
uint32((fieldNo<<3|type)>>>0)}raw(chunk){return this.ensureCapacity(chunk.length),this.buffer.set(chunk,this.pos),this.pos+=
chunk.length,this}uint32(value){if(assertUInt32(value),this.ensureCapacity(5),value<128)return this.buffer[this.pos++]=value,
this;for(;value>127;)this.buffer[this.pos++]=value&127|128,value>>>=7;return this.buffer[this.pos++]=value,this}int32(value){
if(assertInt32(value),value>=0)return this.uint32(value);this.ensureCapacity(10);for(let i=0;i<9;i++)this.buffer[this.pos++]=
value&127|128,value>>=7;return this.buffer[this.pos++]=1,this}bool(value){return this.ensureCapacity(1),this.buffer[this.
pos++]=value?1:0,this}bytes(value){return this.uint32(value.byteLength),this.raw(value)}string(value){typeof value!="str\
ing"&&(value=String(value));let len=value.length;if(len<=ASCII_MAX_LENGTH){this.ensureCapacity(len+1);let ascii=this.buffer,
pos=this.pos;ascii[pos++]=len;let i=0;for(;i<len;i++){let code2=value.charCodeAt(i);if(code2>127)break;ascii[pos++]=code2}
if(i==len)return this.pos=pos,this}this.ensureCapacity(len*3+5);let lenPrefixSizeGuess=varint32Size(len),buf=this.buffer,
start=this.pos,{written}=this.encodeUtf8Into(value,buf.subarray(start+lenPrefixSizeGuess)),lenPrefixSize=varint32Size(written);
return lenPrefixSize!=lenPrefixSizeGuess&&buf.copyWithin(start+lenPrefixSize,start+lenPrefixSizeGuess,start+lenPrefixSizeGuess+
written),this.uint32(written),this.pos+=written,this}float(value){return assertFloat32(value),this.ensureCapacity(4),this.
view().setFloat32(this.pos,value,!0),this.pos+=4,this}double(value){return this.ensureCapacity(8),this.view().setFloat64(
this.pos,value,!0),this.pos+=8,this}fixed32(value){return assertUInt32(value),this.ensureCapacity(4),this.view().setUint32(
this.pos,value,!0),this.pos+=4,this}sfixed32(value){return assertInt32(value),this.ensureCapacity(4),this.view().setInt32(
this.pos,value,!0),this.pos+=4,this}sint32(value){return assertInt32(value),this.uint32((value<<1^value>>31)>>>0)}sfixed64(value){
let tc=protoInt64.enc(value);this.ensureCapacity(8);let view=this.view();return view.setInt32(this.pos,tc.lo,!0),view.setInt32(
this.pos+4,tc.hi,!0),this.pos+=8,this}fixed64(value){let tc=protoInt64.uEnc(value);this.ensureCapacity(8);let view=this.
view();return view.setInt32(this.pos,tc.lo,!0),view.setInt32(this.pos+4,tc.hi,!0),this.pos+=8,this}int64(value){let tc=protoInt64.
enc(value);return this.writeVarint64(tc.lo,tc.hi)}sint64(value){let tc=protoInt64.enc(value),sign=tc.hi>>31,lo=tc.lo<<1^
sign,hi=(tc.hi<<1|tc.lo>>>31)^sign;return this.writeVarint64(lo,hi)}uint64(value){let tc=protoInt64.uEnc(value);return this.
writeVarint64(tc.lo,tc.hi)}writeVarint64(lo,hi){this.ensureCapacity(10);let buf=this.buffer,pos=this.pos;for(let i=0;i<28;i=
i+7){let shift=lo>>>i,hasNext=!(!(shift>>>7)&&hi==0);if(buf[pos++]=(hasNext?shift|128:shift)&255,!hasNext)return this.pos=
pos,this}let splitBits=lo>>>28&15|(hi&7)<<4,hasMoreBits=hi>>3!=0;if(buf[pos++]=(hasMoreBits?splitBits|128:splitBits)&255,
!hasMoreBits)return this.pos=pos,this;for(let i=3;i<31;i=i+7){let shift=hi>>>i,hasNext=!!(shift>>>7);if(buf[pos++]=(hasNext?
shift|128:shift)&255,!hasNext)return this.pos=pos,this}return buf[pos++]=hi>>>31&1,this.pos=pos,this}},INITIAL_SIZE=128,
DEFAULT_LEN_PREFIX_SIZE=1,EMPTY_BUFFER=new Uint8Array(0),EMPTY_VIEW=new DataView(EMPTY_BUFFER.buffer),ASCII_MAX_LENGTH=32;
function varint32Size(value){return value<128?1:value<16384?2:value<2097152?3:value<268435456?4:5}var BinaryReader=class{constructor(buf,decodeUtf8=getTextEncoding().
decodeUtf8){this.decodeUtf8=decodeUtf8,this.varint64Lo=0,this.varint64Hi=0,this.varint64=varint64read,this.uint32=varint32read,
this.buf=buf,this.len=buf.length,this.pos=0,this.view=new DataView(buf.buffer,buf.byteOffset,buf.byteLength)}tag(){let start=this.
pos,tag=this.uint32(),bytesRead=this.pos-start;if(bytesRead>5||bytesRead==5&&this.buf[this.pos-1]>15)throw new Error("il\
legal tag: varint overflows uint32");let fieldNo=tag>>>3,wireType=tag&7;if(fieldNo<=0||wireType>5)throw new Error("illeg\
al tag: field no "+fieldNo+" wire type "+wireType);return[fieldNo,wireType]}skip(wireType,fieldNo,recursionLimit=100){let start=this.
pos;switch(wireType){case WireType.Varint:for(;this.buf[this.pos++]&128;);break;case WireType.Bit64:this.pos+=4;case WireType.
Bit32:this.pos+=4;break;case WireType.LengthDelimited:let len=this.uint32();this.pos+=len;break;case WireType.StartGroup:
if(recursionLimit<=0)throw new Error("maximum recursion depth reached");for(;;){let[fn,wt]=this.tag();if(wt===WireType.EndGroup){
if(fieldNo!==void 0&&fn!==fieldNo)throw new Error("invalid end group tag");break}this.skip(wt,fn,recursionLimit-1)}break;default:
throw new Error("cant skip wire type "+wireType)}return this.assertBounds(),this.buf.subarray(start,this.pos)}assertBounds(){
if(this.pos>this.len)throw new RangeError("premature EOF")}int32(){return this.uint32()|0}sint32(){let zze=this.uint32();
return zze>>>1^-(zze&1)}int64(){return this.varint64(),protoInt64.dec(this.varint64Lo,this.varint64Hi)}uint64(){return this.
varint64(),protoInt64.uDec(this.varint64Lo,this.varint64Hi)}sint64(){this.varint64();let lo=this.varint64Lo,hi=this.varint64Hi,
s=-(lo&1);return lo=(lo>>>1|(hi&1)<<31)^s,hi=hi>>>1^s,protoInt64.dec(lo,hi)}bool(){let b=this.buf[this.pos];return b<128?
(this.pos++,b!==0):(this.varint64(),this.varint64Lo!==0||this.varint64Hi!==0)}fixed32(){return this.view.getUint32((this.
pos+=4)-4,!0)}sfixed32(){return this.view.getInt32((this.pos+=4)-4,!0)}fixed64(){return protoInt64.uDec(this.sfixed32(),
this.sfixed32())}sfixed64(){return protoInt64.dec(this.sfixed32(),this.sfixed32())}float(){return this.view.getFloat32((this.
pos+=4)-4,!0)}double(){return this.view.getFloat64((this.pos+=8)-8,!0)}bytes(){let len=this.uint32(),start=this.pos;return this.
pos+=len,this.assertBounds(),this.buf.subarray(start,start+len)}string(strict){let len=this.uint32(),start=this.pos;this.
pos+=len,this.assertBounds();let buf=this.buf;if(len<=ASCII_MAX_LENGTH){let codes=new Array(len);for(let i=0;i<len;i++){
let byte=buf[start+i];if(byte>127)return this.decodeUtf8(buf.subarray(start,this.pos),strict);codes[i]=byte}return String.
fromCharCode.apply(String,codes)}return this.decodeUtf8(buf.subarray(start,this.pos),strict)}};function assertInt32(arg){
if(typeof arg=="string")arg=Number(arg);else if(typeof arg!="number")throw new Error("invalid int32: "+typeof arg);if(!Number.
isInteger(arg)||arg>INT32_MAX||arg<INT32_MIN)throw new Error("invalid int32: "+arg)}function assertUInt32(arg){if(typeof arg==
"string")arg=Number(arg);else if(typeof arg!="number")throw new Error("invalid uint32: "+typeof arg);if(!Number.isInteger(
arg)||arg>UINT32_MAX||arg<0)throw new Error("invalid uint32: "+arg)}function assertFloat32(arg){if(typeof arg=="string"){
let o=arg;if(arg=Number(arg),Number.isNaN(arg)&&o!=="NaN")throw new Error("invalid float32: "+o)}else if(typeof arg!="nu\
mber")throw new Error("invalid float32: "+typeof arg);if(!Number.isFinite(Math.fround(arg))&&Number.isFinite(arg))throw new Error(
"invalid float32: "+arg)}function createEmbeddedFileRegistry(fileDescriptorProto,resolve){return buildFileRegistry([fileDescriptorProto,resolve])}
function buildFileRegistry(args,check){let registry=createBaseRegistry();if(!args.length)return registry;if("$typeName"in
args[0]&&args[0].$typeName=="google.protobuf.FileDescriptorSet"){for(let file of args[0].file)check?.(file),addFile(file,
registry);return registry}if("$typeName"in args[0]){let recurseDeps=function(file){let deps=[];for(let protoFileName of file.
dependency){if(registry.getFile(protoFileName)!=null||seen.has(protoFileName))continue;let dep=resolve(protoFileName);if(!dep)
throw new Error(`Unable to resolve ${protoFileName}, imported by ${file.name}`);"kind"in dep?registry.addFile(dep,!1,!0):
(seen.add(dep.name),deps.push(dep))}return deps.concat(...deps.map(recurseDeps))},input=args[0],resolve=args[1],seen=new Set;
for(let file of[input,...recurseDeps(input)].reverse())check?.(file),addFile(file,registry)}else for(let fileReg of args)
for(let file of fileReg.files)registry.addFile(file);return registry}function createBaseRegistry(){let types=new Map,extendees=new Map,files=new Map;return{kind:"registry",types,extendees,[Symbol.
iterator](){return types.values()},get files(){return files.values()},addFile(file,skipTypes,withDeps){if(files.set(file.
proto.name,file),!skipTypes)for(let type of nestedTypes(file))this.add(type);if(withDeps)for(let f of file.dependencies)
this.addFile(f,skipTypes,withDeps)},add(desc){if(desc.kind=="extension"){let numberToExt=extendees.get(desc.extendee.typeName);
numberToExt||extendees.set(desc.extendee.typeName,numberToExt=new Map),numberToExt.set(desc.number,desc)}types.set(desc.
typeName,desc)},get(typeName){return types.get(typeName)},getFile(fileName){return files.get(fileName)},getMessage(typeName){
let t=types.get(typeName);return t?.kind=="message"?t:void 0},getEnum(typeName){let t=types.get(typeName);return t?.kind==
"enum"?t:void 0},getExtension(typeName){let t=types.get(typeName);return t?.kind=="extension"?t:void 0},getExtensionFor(extendee,no){
var _a;return(_a=extendees.get(extendee.typeName))===null||_a===void 0?void 0:_a.get(no)},getService(typeName){let t=types.
get(typeName);return t?.kind=="service"?t:void 0}}}var EDITION_PROTO2=998,EDITION_PROTO3=999,EDITION_UNSTABLE=9999,TYPE_STRING=9,TYPE_GROUP=10,TYPE_MESSAGE=11,TYPE_BYTES=12,
TYPE_ENUM=14,LABEL_REPEATED=3,LABEL_REQUIRED=2,JS_STRING=1,IDEMPOTENCY_UNKNOWN=0,EXPLICIT=1,IMPLICIT2=2,LEGACY_REQUIRED=3,
PACKED=1,DELIMITED=2,OPEN=1,VERIFY=2;var maximumEdition=1002,featureDefaults={998:{fieldPresence:1,enumType:2,repeatedFieldEncoding:2,utf8Validation:3,messageEncoding:1,
jsonFormat:2,enforceNamingStyle:2,defaultSymbolVisibility:1,enforceProtoLimits:1},999:{fieldPresence:2,enumType:1,repeatedFieldEncoding:1,
utf8Validation:2,messageEncoding:1,jsonFormat:1,enforceNamingStyle:2,defaultSymbolVisibility:1,enforceProtoLimits:1},1e3:{
fieldPresence:1,enumType:1,repeatedFieldEncoding:1,utf8Validation:2,messageEncoding:1,jsonFormat:1,enforceNamingStyle:2,
defaultSymbolVisibility:1,enforceProtoLimits:1},1001:{fieldPresence:1,enumType:1,repeatedFieldEncoding:1,utf8Validation:2,
messageEncoding:1,jsonFormat:1,enforceNamingStyle:1,defaultSymbolVisibility:2,enforceProtoLimits:1},1002:{fieldPresence:1,
enumType:1,repeatedFieldEncoding:1,utf8Validation:2,messageEncoding:1,jsonFormat:1,enforceNamingStyle:3,defaultSymbolVisibility:4,
enforceProtoLimits:2}};function addFile(proto,reg){var _a,_b;let file={kind:"file",proto,deprecated:(_b=(_a=proto.options)===
null||_a===void 0?void 0:_a.deprecated)!==null&&_b!==void 0?_b:!1,edition:getFileEdition(proto),name:proto.name.replace(
/\.proto$/,""),dependencies:findFileDependencies(proto,reg),enums:[],messages:[],extensions:[],services:[],toString(){return`\
file ${proto.name}`}},mapEntriesStore=new Map,mapEntries={get(typeName){return mapEntriesStore.get(typeName)},add(desc){
var _a2;assert(((_a2=desc.proto.options)===null||_a2===void 0?void 0:_a2.mapEntry)===!0),mapEntriesStore.set(desc.typeName,
desc)}};for(let enumProto of proto.enumType)addEnum(enumProto,file,void 0,reg);for(let messageProto of proto.messageType)
addMessage(messageProto,file,void 0,reg,mapEntries);for(let serviceProto of proto.service)addService(serviceProto,file,reg);
addExtensions(file,reg);for(let mapEntry of mapEntriesStore.values())addFields(mapEntry,reg,mapEntries);for(let message of file.
messages)addFields(message,reg,mapEntries),addExtensions(message,reg);reg.addFile(file,!0)}function addExtensions(desc,reg){
switch(desc.kind){case"file":for(let proto of desc.proto.extension){let ext=newField(proto,desc,reg);desc.extensions.push(
ext),reg.add(ext)}break;case"message":for(let proto of desc.proto.extension){let ext=newField(proto,desc,reg);desc.nestedExtensions.
push(ext),reg.add(ext)}for(let message of desc.nestedMessages)addExtensions(message,reg);break}}function addFields(message,reg,mapEntries){
let allOneofs=message.proto.oneofDecl.map(proto=>newOneof(proto,message)),oneofsSeen=new Set;for(let proto of message.proto.
field){let oneof=findOneof(proto,allOneofs),field=newField(proto,message,reg,oneof,mapEntries);message.fields.push(field),
message.field[field.localName]=field,oneof===void 0?message.members.push(field):(oneof.fields.push(field),oneofsSeen.has(
oneof)||(oneofsSeen.add(oneof),message.members.push(oneof)))}for(let oneof of allOneofs.filter(o=>oneofsSeen.has(o)))message.
oneofs.push(oneof);for(let child of message.nestedMessages)addFields(child,reg,mapEntries)}function addEnum(proto,file,parent,reg){
var _a,_b,_c,_d,_e,_f,_g,_h,_j;let sharedPrefix=findEnumSharedPrefix(proto.name,proto.value),desc={kind:"enum",proto,deprecated:(_b=
(_a=proto.options)===null||_a===void 0?void 0:_a.deprecated)!==null&&_b!==void 0?_b:!1,file,parent,open:!0,name:proto.name,
typeName:makeTypeName(proto,parent,file),value:{},values:[],sharedPrefix,toString(){return`enum ${this.typeName}`}};desc.
open=isEnumOpen(desc),reg.add(desc);for(let p of proto.value){let name=p.name,value={kind:"enum_value",proto:p,deprecated:(_d=
(_c=p.options)===null||_c===void 0?void 0:_c.deprecated)!==null&&_d!==void 0?_d:!1,parent:desc,name,localName:safeObjectProperty(
sharedPrefix==null?name:name.substring(sharedPrefix.length)),number:p.number,jsonName:(_e=findEnumValueJsonName(p))!==null&&
_e!==void 0?_e:name,toString(){return`enum value ${desc.typeName}.${name}`}};desc.values.push(value),(_f=(_h=desc.value)[_j=
p.number])!==null&&_f!==void 0||(_h[_j]=value)}((_g=parent?.nestedEnums)!==null&&_g!==void 0?_g:file.enums).push(desc)}function addMessage(proto,file,parent,reg,mapEntries){
var _a,_b,_c,_d;let desc={kind:"message",proto,deprecated:(_b=(_a=proto.options)===null||_a===void 0?void 0:_a.deprecated)!==
null&&_b!==void 0?_b:!1,file,parent,name:proto.name,typeName:makeTypeName(proto,parent,file),fields:[],field:{},oneofs:[],
members:[],nestedEnums:[],nestedMessages:[],nestedExtensions:[],toString(){return`message ${this.typeName}`}};((_c=proto.
options)===null||_c===void 0?void 0:_c.mapEntry)===!0?mapEntries.add(desc):(((_d=parent?.nestedMessages)!==null&&_d!==void 0?
_d:file.messages).push(desc),reg.add(desc));for(let enumProto of proto.enumType)addEnum(enumProto,file,desc,reg);for(let messageProto of proto.
nestedType)addMessage(messageProto,file,desc,reg,mapEntries)}function addService(proto,file,reg){var _a,_b;let desc={kind:"\
service",proto,deprecated:(_b=(_a=proto.options)===null||_a===void 0?void 0:_a.deprecated)!==null&&_b!==void 0?_b:!1,file,
name:proto.name,typeName:makeTypeName(proto,void 0,file),methods:[],method:{},toString(){return`service ${this.typeName}`}};
file.services.push(desc),reg.add(desc);for(let methodProto of proto.method){let method3=newMethod(methodProto,desc,reg);
desc.methods.push(method3),desc.method[method3.localName]=method3}}function newMethod(proto,parent,reg){var _a,_b,_c,_d;
let methodKind;proto.clientStreaming&&proto.serverStreaming?methodKind="bidi_streaming":proto.clientStreaming?methodKind=
"client_streaming":proto.serverStreaming?methodKind="server_streaming":methodKind="unary";let input=reg.getMessage(trimLeadingDot(
proto.inputType)),output=reg.getMessage(trimLeadingDot(proto.outputType));assert(input,`invalid MethodDescriptorProto: i\
nput_type ${proto.inputType} not found`),assert(output,`invalid MethodDescriptorProto: output_type ${proto.inputType} no\
t found`);let name=proto.name;return{kind:"rpc",proto,deprecated:(_b=(_a=proto.options)===null||_a===void 0?void 0:_a.deprecated)!==
null&&_b!==void 0?_b:!1,parent,name,localName:safeObjectProperty(name.length?safeObjectProperty(name[0].toLowerCase()+name.
substring(1)):name),methodKind,input,output,idempotency:(_d=(_c=proto.options)===null||_c===void 0?void 0:_c.idempotencyLevel)!==
null&&_d!==void 0?_d:IDEMPOTENCY_UNKNOWN,toString(){return`rpc ${parent.typeName}.${name}`}}}function newOneof(proto,parent){
return{kind:"oneof",proto,deprecated:!1,parent,fields:[],name:proto.name,localName:safeObjectProperty(protoCamelCase(proto.
name)),toString(){return`oneof ${parent.typeName}.${this.name}`}}}function newField(proto,parentOrFile,reg,oneof,mapEntries){
var _a,_b,_c;let isExtension=mapEntries===void 0,field={kind:"field",proto,deprecated:(_b=(_a=proto.options)===null||_a===
void 0?void 0:_a.deprecated)!==null&&_b!==void 0?_b:!1,name:proto.name,number:proto.number,scalar:void 0,message:void 0,
enum:void 0,presence:getFieldPresence(proto,oneof,isExtension,parentOrFile),utf8Validation:isUtf8Validated(proto,parentOrFile),
listKind:void 0,mapKind:void 0,mapKey:void 0,delimitedEncoding:void 0,packed:void 0,longAsString:!1,getDefaultValue:void 0},
toStr;if(isExtension){let file=parentOrFile.kind=="file"?parentOrFile:parentOrFile.file,parent=parentOrFile.kind=="file"?
void 0:parentOrFile,typeName=makeTypeName(proto,parent,file);field.kind="extension",field.file=file,field.parent=parent,
field.oneof=void 0,field.typeName=typeName,field.jsonName=`[${typeName}]`,toStr=()=>`extension ${typeName}`;let extendee=reg.
getMessage(trimLeadingDot(proto.extendee));assert(extendee,`invalid FieldDescriptorProto: extendee ${proto.extendee} not\
 found`),field.extendee=extendee}else{let parent=parentOrFile;assert(parent.kind=="message"),field.parent=parent,field.oneof=
oneof,field.localName=oneof?protoCamelCase(proto.name):safeObjectProperty(protoCamelCase(proto.name)),field.jsonName=proto.
jsonName,toStr=()=>`field ${parent.typeName}.${proto.name}`}Object.defineProperty(field,"toString",{value:toStr,writable:!0,
enumerable:!0,configurable:!0});let label2=proto.label,type=proto.type,jstype=(_c=proto.options)===null||_c===void 0?void 0:
_c.jstype;if(label2===LABEL_REPEATED){let mapEntry=type==TYPE_MESSAGE?mapEntries?.get(trimLeadingDot(proto.typeName)):void 0;
if(mapEntry){field.fieldKind="map";let{key,value}=findMapEntryFields(mapEntry);return field.mapKey=key.scalar,field.mapKind=
value.fieldKind,field.message=value.message,field.delimitedEncoding=!1,field.enum=value.enum,field.scalar=value.scalar,field}
switch(field.fieldKind="list",type){case TYPE_MESSAGE:case TYPE_GROUP:field.listKind="message",field.message=reg.getMessage(
trimLeadingDot(proto.typeName)),assert(field.message),field.delimitedEncoding=isDelimitedEncoding(proto,parentOrFile);break;case TYPE_ENUM:
field.listKind="enum",field.enum=reg.getEnum(trimLeadingDot(proto.typeName)),assert(field.enum);break;default:field.listKind=
"scalar",field.scalar=type,field.longAsString=jstype==JS_STRING;break}return field.packed=isPackedField(proto,parentOrFile),
field}switch(type){case TYPE_MESSAGE:case TYPE_GROUP:field.fieldKind="message",field.message=reg.getMessage(trimLeadingDot(
proto.typeName)),assert(field.message,`invalid FieldDescriptorProto: type_name ${proto.typeName} not found`),field.delimitedEncoding=
isDelimitedEncoding(proto,parentOrFile),field.getDefaultValue=()=>{};break;case TYPE_ENUM:{let enumeration=reg.getEnum(trimLeadingDot(
proto.typeName));assert(enumeration!==void 0,`invalid FieldDescriptorProto: type_name ${proto.typeName} not found`),field.
fieldKind="enum",field.enum=reg.getEnum(trimLeadingDot(proto.typeName)),field.getDefaultValue=()=>unsafeIsSetExplicit(proto,
"defaultValue")?parseTextFormatEnumValue(enumeration,proto.defaultValue):void 0;break}default:{field.fieldKind="scalar",
field.scalar=type,field.longAsString=jstype==JS_STRING,field.getDefaultValue=()=>unsafeIsSetExplicit(proto,"defaultValue")?
parseTextFormatScalarValue(type,proto.defaultValue):void 0;break}}return field}function getFileEdition(proto){switch(proto.
syntax){case"":case"proto2":return EDITION_PROTO2;case"proto3":return EDITION_PROTO3;case"editions":if(proto.edition===EDITION_UNSTABLE)
return maximumEdition;if(proto.edition in featureDefaults)return proto.edition;throw new Error(`${proto.name}: unsupport\
ed edition`);default:throw new Error(`${proto.name}: unsupported syntax "${proto.syntax}"`)}}function findFileDependencies(proto,reg){
return proto.dependency.map(wantName=>{let dep=reg.getFile(wantName);if(!dep)throw new Error(`Cannot find ${wantName}, i\
mported by ${proto.name}`);return dep})}function findEnumSharedPrefix(enumName,values){let prefix=camelToSnakeCase(enumName)+
"_";for(let value of values){if(!value.name.toLowerCase().startsWith(prefix))return;let shortName=value.name.substring(prefix.
length);if(shortName.length==0||/^\d/.test(shortName))return}return prefix}function findEnumValueJsonName(proto){var _a,
_b;let jsonName;for(let uf of(_b=(_a=proto.options)===null||_a===void 0?void 0:_a.$unknown)!==null&&_b!==void 0?_b:[]){if(uf.
no!==998||uf.wireType!==WireType.LengthDelimited)continue;let reader=new BinaryReader(new BinaryReader(uf.data).bytes());
for(;reader.pos<reader.len;){let[no,wireType]=reader.tag();no===1&&wireType===WireType.LengthDelimited?jsonName=reader.string():
reader.skip(wireType,no)}}return jsonName}function camelToSnakeCase(camel){return(camel.substring(0,1)+camel.substring(1).
replace(/[A-Z]/g,c=>"_"+c)).toLowerCase()}function makeTypeName(proto,parent,file){let typeName;return parent?typeName=`${parent.
typeName}.${proto.name}`:file.proto.package.length>0?typeName=`${file.proto.package}.${proto.name}`:typeName=`${proto.name}`,
typeName}function trimLeadingDot(typeName){return typeName.startsWith(".")?typeName.substring(1):typeName}function findOneof(proto,allOneofs){
if(!unsafeIsSetExplicit(proto,"oneofIndex")||proto.proto3Optional)return;let oneof=allOneofs[proto.oneofIndex];return assert(
oneof,`invalid FieldDescriptorProto: oneof #${proto.oneofIndex} for field #${proto.number} not found`),oneof}function getFieldPresence(proto,oneof,isExtension,parent){
if(proto.label==LABEL_REQUIRED)return LEGACY_REQUIRED;if(proto.label==LABEL_REPEATED)return IMPLICIT2;if(oneof||proto.proto3Optional||
isExtension)return EXPLICIT;let resolved=resolveFeature("fieldPresence",{proto,parent});return resolved==IMPLICIT2&&(proto.
type==TYPE_MESSAGE||proto.type==TYPE_GROUP)?EXPLICIT:resolved}function isPackedField(proto,parent){if(proto.label!=LABEL_REPEATED)
return!1;switch(proto.type){case TYPE_STRING:case TYPE_BYTES:case TYPE_GROUP:case TYPE_MESSAGE:return!1}let o=proto.options;
return o&&unsafeIsSetExplicit(o,"packed")?o.packed:PACKED==resolveFeature("repeatedFieldEncoding",{proto,parent})}function findMapEntryFields(mapEntry){
let key=mapEntry.fields.find(f=>f.number===1),value=mapEntry.fields.find(f=>f.number===2);return assert(key&&key.fieldKind==
"scalar"&&key.scalar!=ScalarType.BYTES&&key.scalar!=ScalarType.FLOAT&&key.scalar!=ScalarType.DOUBLE&&value&&value.fieldKind!=
"list"&&value.fieldKind!="map"),{key,value}}function isEnumOpen(desc){var _a;return OPEN==resolveFeature("enumType",{proto:desc.
proto,parent:(_a=desc.parent)!==null&&_a!==void 0?_a:desc.file})}function isDelimitedEncoding(proto,parent){return proto.
type==TYPE_GROUP?!0:DELIMITED==resolveFeature("messageEncoding",{proto,parent})}function isUtf8Validated(proto,parent){return VERIFY==
resolveFeature("utf8Validation",{proto,parent})}function resolveFeature(name,ref){var _a,_b;let featureSet=(_a=ref.proto.
options)===null||_a===void 0?void 0:_a.features;if(featureSet){let val=featureSet[name];if(val!=0)return val}if("kind"in
ref){if(ref.kind=="message")return resolveFeature(name,(_b=ref.parent)!==null&&_b!==void 0?_b:ref.file);let editionDefaults=featureDefaults[ref.
edition];if(!editionDefaults)throw new Error(`feature default for edition ${ref.edition} not found`);return editionDefaults[name]}
return resolveFeature(name,ref.parent)}function assert(condition,msg){if(!condition)throw new Error(msg)}function boot(boot2){let root=bootFileDescriptorProto(boot2);return root.messageType.forEach(restoreJsonNames),createEmbeddedFileRegistry(
root,()=>{}).getFile(root.name)}function bootFileDescriptorProto(init){return Object.assign(Object.create({syntax:"",edition:0}),
Object.assign(Object.assign({$typeName:"google.protobuf.FileDescriptorProto",dependency:[],publicDependency:[],weakDependency:[],
optionDependency:[],service:[],extension:[]},init),{messageType:init.messageType.map(bootDescriptorProto),enumType:init.
enumType.map(bootEnumDescriptorProto)}))}function bootDescriptorProto(init){var _a,_b,_c,_d,_e,_f,_g,_h;return Object.assign(
Object.create({visibility:0}),{$typeName:"google.protobuf.DescriptorProto",name:init.name,field:(_b=(_a=init.field)===null||
_a===void 0?void 0:_a.map(bootFieldDescriptorProto))!==null&&_b!==void 0?_b:[],extension:[],nestedType:(_d=(_c=init.nestedType)===
null||_c===void 0?void 0:_c.map(bootDescriptorProto))!==null&&_d!==void 0?_d:[],enumType:(_f=(_e=init.enumType)===null||
_e===void 0?void 0:_e.map(bootEnumDescriptorProto))!==null&&_f!==void 0?_f:[],extensionRange:(_h=(_g=init.extensionRange)===
null||_g===void 0?void 0:_g.map(e=>Object.assign({$typeName:"google.protobuf.DescriptorProto.ExtensionRange"},e)))!==null&&
_h!==void 0?_h:[],oneofDecl:[],reservedRange:[],reservedName:[]})}function bootFieldDescriptorProto(init){return Object.
assign(Object.create({label:1,typeName:"",extendee:"",defaultValue:"",oneofIndex:0,jsonName:"",proto3Optional:!1}),Object.
assign(Object.assign({$typeName:"google.protobuf.FieldDescriptorProto"},init),{options:init.options?bootFieldOptions(init.
options):void 0}))}function bootFieldOptions(init){var _a,_b,_c;return Object.assign(Object.create({ctype:0,packed:!1,jstype:0,
lazy:!1,unverifiedLazy:!1,deprecated:!1,weak:!1,debugRedact:!1,retention:0}),Object.assign(Object.assign({$typeName:"goo\
gle.protobuf.FieldOptions"},init),{targets:(_a=init.targets)!==null&&_a!==void 0?_a:[],editionDefaults:(_c=(_b=init.editionDefaults)===
null||_b===void 0?void 0:_b.map(e=>Object.assign({$typeName:"google.protobuf.FieldOptions.EditionDefault"},e)))!==null&&
_c!==void 0?_c:[],uninterpretedOption:[]}))}function bootEnumDescriptorProto(init){return Object.assign(Object.create({visibility:0}),
{$typeName:"google.protobuf.EnumDescriptorProto",name:init.name,reservedName:[],reservedRange:[],value:init.value.map(e=>Object.
assign({$typeName:"google.protobuf.EnumValueDescriptorProto"},e))})}var nativeSetFromBase64=Uint8Array.prototype.setFromBase64;function base64Decode(base64Str){let len=base64Str.length,size=len-
(len+3>>2);(len&3)==0&&base64Str[len-1]=="="&&(size-=base64Str[len-2]=="="?2:1);let bytes=new Uint8Array(size),written=-1;
if(nativeSetFromBase64)try{let result=nativeSetFromBase64.call(bytes,base64Str);result.read==len&&(written=result.written)}catch{}
return written<0&&(written=setFromBase64(bytes,base64Str)),written==size?bytes:bytes.subarray(0,written)}function setFromBase64(bytes,base64Str){
let table2=getDecodeTable(),bytePos=0,groupPos=0,b,p=0;for(let i=0;i<base64Str.length;i++){if(b=table2[base64Str.charCodeAt(
i)],b===void 0)switch(base64Str[i]){case"=":groupPos=0;case`
`:case"\r":case"	":case" ":continue;default:throw Error("invalid base64 string")}switch(groupPos){case 0:p=b,groupPos=1;
break;case 1:bytes[bytePos++]=p<<2|(b&48)>>4,p=b,groupPos=2;break;case 2:bytes[bytePos++]=(p&15)<<4|(b&60)>>2,p=b,groupPos=
3;break;case 3:bytes[bytePos++]=(p&3)<<6|b,groupPos=0;break}}if(groupPos==1)throw Error("invalid base64 string");return bytePos}
var nativeToBase64=Uint8Array.prototype.toBase64,toBase64OptionsMap={std:{alphabet:"base64",omitPadding:!1},std_raw:{alphabet:"\
base64",omitPadding:!0},url:{alphabet:"base64url",omitPadding:!0}};function base64Encode(bytes,encoding="std"){if(nativeToBase64)
return nativeToBase64.call(bytes,toBase64OptionsMap[encoding]);let table2=getEncodeTable(encoding),pad=encoding=="std",base64="",
groupPos=0,b,p=0;for(let i=0;i<bytes.length;i++)switch(b=bytes[i],groupPos){case 0:base64+=table2[b>>2],p=(b&3)<<4,groupPos=
1;break;case 1:base64+=table2[p|b>>4],p=(b&15)<<2,groupPos=2;break;case 2:base64+=table2[p|b>>6],base64+=table2[b&63],groupPos=
0;break}return groupPos&&(base64+=table2[p],pad&&(base64+="=",groupPos==1&&(base64+="="))),base64}var encodeTableStd,encodeTableUrl,
decodeTable;function getEncodeTable(encoding){return encodeTableStd||(encodeTableStd="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh\
ijklmnopqrstuvwxyz0123456789+/".split(""),encodeTableUrl=encodeTableStd.slice(0,-2).concat("-","_")),encoding=="url"?encodeTableUrl:
encodeTableStd}function getDecodeTable(){if(!decodeTable){decodeTable=[];let encodeTable=getEncodeTable("std");for(let i=0;i<
encodeTable.length;i++)decodeTable[encodeTable[i].charCodeAt(0)]=i;decodeTable[45]=encodeTable.indexOf("+"),decodeTable[95]=
encodeTable.indexOf("/")}return decodeTable}var errorNames=["FieldValueInvalidError","FieldListRangeError","ForeignFieldError"],FieldError=class extends Error{constructor(fieldOrOneof,message,name="\
FieldValueInvalidError"){super(message),this.name=name,this.field=()=>fieldOrOneof}};function isFieldError(arg){return arg instanceof
Error&&errorNames.includes(arg.name)&&"field"in arg&&typeof arg.field=="function"}function isMessage(arg,schema){return arg!==null&&typeof arg=="object"&&"$typeName"in arg&&typeof arg.$typeName=="string"?
schema===void 0?!0:schema.typeName===arg.$typeName:!1}function isObject(arg){return arg!==null&&typeof arg=="object"&&!Array.isArray(arg)}function isReflectList(arg,field){var _a,_b,_c,_d;if(isObject(arg)&&unsafeLocal in arg&&"add"in arg&&"field"in arg&&typeof arg.
field=="function"){if(field!==void 0){let a=field,b=arg.field();return a.listKind==b.listKind&&a.scalar===b.scalar&&((_a=
a.message)===null||_a===void 0?void 0:_a.typeName)===((_b=b.message)===null||_b===void 0?void 0:_b.typeName)&&((_c=a.enum)===
null||_c===void 0?void 0:_c.typeName)===((_d=b.enum)===null||_d===void 0?void 0:_d.typeName)}return!0}return!1}function isReflectMap(arg,field){
var _a,_b,_c,_d;if(isObject(arg)&&unsafeLocal in arg&&"has"in arg&&"field"in arg&&typeof arg.field=="function"){if(field!==
void 0){let a=field,b=arg.field();return a.mapKey===b.mapKey&&a.mapKind==b.mapKind&&a.scalar===b.scalar&&((_a=a.message)===
null||_a===void 0?void 0:_a.typeName)===((_b=b.message)===null||_b===void 0?void 0:_b.typeName)&&((_c=a.enum)===null||_c===
void 0?void 0:_c.typeName)===((_d=b.enum)===null||_d===void 0?void 0:_d.typeName)}return!0}return!1}function isReflectMessage(arg,messageDesc2){
return isObject(arg)&&unsafeLocal in arg&&"desc"in arg&&isObject(arg.desc)&&arg.desc.kind==="message"&&(messageDesc2===void 0||
arg.desc.typeName==messageDesc2.typeName)}function isWrapper(arg){return isWrapperTypeName(arg.$typeName)}function isWrapperDesc(messageDesc2){let f=messageDesc2.
fields[0];return isWrapperTypeName(messageDesc2.typeName)&&f!==void 0&&f.fieldKind=="scalar"&&f.name=="value"&&f.number==
1}function hasCustomJsonRepresentation(desc){switch(desc.typeName){case"google.protobuf.Any":case"google.protobuf.Timest\
amp":case"google.protobuf.Duration":case"google.protobuf.FieldMask":case"google.protobuf.Struct":case"google.protobuf.Va\
lue":case"google.protobuf.ListValue":return!0;default:return isWrapperDesc(desc)}}var wrapperTypeNames=new Set(["google.\
protobuf.DoubleValue","google.protobuf.FloatValue","google.protobuf.Int64Value","google.protobuf.UInt64Value","google.pr\
otobuf.Int32Value","google.protobuf.UInt32Value","google.protobuf.BoolValue","google.protobuf.StringValue","google.proto\
buf.BytesValue"]);function isWrapperTypeName(name){return wrapperTypeNames.has(name)}var EDITION_PROTO32=999,EDITION_PROTO22=998,IMPLICIT3=2;function create(schema,init){return isMessage(init,schema)?init:
compiledCreate(schema)(init)}var compiledCreates=new WeakMap;function compiledCreate(desc){let compiled=compiledCreates.
get(desc);return compiled===void 0&&(compiled=compileCreate(desc),compiledCreates.set(desc,compiled)),compiled}var INIT_SINGULAR=0,
INIT_LIST=1,INIT_MAP=2,INIT_ONEOF=3;function compileCreate(desc){let typeName=desc.typeName,{properties,prototype}=compileInitMessage(
desc);return init=>{let message;prototype!==void 0?(message=Object.create(prototype),message.$typeName=typeName):message=
{$typeName:typeName};for(let i=0;i<properties.length;i++){let property=properties[i],name=property.name,initValue=init?.[name];
switch(property.kind){case INIT_SINGULAR:initValue!=null?message[name]=property.convert!==void 0?property.convert(initValue):
initValue:property.constant!==void 0&&(message[name]=property.constant);break;case INIT_LIST:message[name]=property.convert!==
void 0&&Array.isArray(initValue)?initValue.map(property.convert):initValue??[];break;case INIT_MAP:if(property.convert===
void 0||!isObject(initValue))message[name]=initValue??{};else{let converted={},keys=Object.keys(initValue);for(let k=0;k<
keys.length;k++)setOwn(converted,keys[k],property.convert(initValue[keys[k]]));message[name]=converted}break;case INIT_ONEOF:{
let oneofValue=initValue;if(oneofValue?.case!=null){let convert=property.convert.get(oneofValue.case);if(convert!==void 0){
message[name]={case:oneofValue.case,value:convert(oneofValue.value)};break}}message[name]={case:void 0};break}}}return message}}
function compileInitMessage(desc){var _a,_b;let properties=[],prototype={},usePrototype=needsPrototypeChain(desc);for(let member of desc.
members){let name=member.localName;if(member.kind=="oneof"){properties.push({name,kind:INIT_ONEOF,constant:void 0,convert:compileConvertOneof(
member)});continue}switch(member.fieldKind){case"message":{properties.push({name,kind:INIT_SINGULAR,constant:void 0,convert:compileConvertMessage(
member)});break}case"list":{properties.push({name,kind:INIT_LIST,constant:void 0,convert:member.listKind=="message"?(_a=
compileConvertMessage(member))!==null&&_a!==void 0?_a:(value=>value):member.scalar==ScalarType.BYTES?toU8Arr:void 0});break}case"\
map":{properties.push({name,kind:INIT_MAP,constant:void 0,convert:member.mapKind=="message"?(_b=compileConvertMessage(member))!==
null&&_b!==void 0?_b:(value=>value):member.scalar==ScalarType.BYTES?toU8Arr:void 0});break}default:{let zeroValue=createZeroValue(
member);properties.push({name,kind:INIT_SINGULAR,constant:member.presence==IMPLICIT3?zeroValue:void 0,convert:member.fieldKind==
"scalar"&&member.scalar==ScalarType.BYTES?toU8Arr:void 0}),usePrototype&&(prototype[name]=zeroValue);break}}}return{properties,
prototype:usePrototype?prototype:void 0}}function compileConvertOneof(oneof){let converters=new Map;for(let field of oneof.
fields){let convert;field.fieldKind=="message"?convert=compileConvertMessage(field):field.fieldKind=="scalar"&&field.scalar==
ScalarType.BYTES&&(convert=toU8Arr),converters.set(field.localName,convert??(value=>value))}return converters}function compileConvertMessage(field){
if(field.fieldKind=="message"&&!field.oneof&&isWrapperDesc(field.message))return field.message.fields[0].scalar==ScalarType.
BYTES?toU8Arr:void 0;if(field.message.typeName=="google.protobuf.Struct"&&field.parent.typeName!=="google.protobuf.Value")
return;let messageDesc2=field.message,compiled;return value=>!isObject(value)||isMessage(value,messageDesc2)?value:(compiled??
(compiled=compiledCreate(messageDesc2)),compiled(value))}function toU8Arr(value){return Array.isArray(value)?new Uint8Array(
value):value}function needsPrototypeChain(desc){switch(desc.file.edition){case EDITION_PROTO32:return!1;case EDITION_PROTO22:
return!0;default:return desc.fields.some(f=>f.presence!=IMPLICIT3&&f.fieldKind!="message"&&!f.oneof)}}function createZeroValue(field){
let defaultValue=field.getDefaultValue();return defaultValue!==void 0?field.fieldKind=="scalar"&&field.longAsString?defaultValue.
toString():defaultValue:field.fieldKind=="scalar"?scalarZeroValue(field.scalar,field.longAsString):field.enum.values[0].
number}var NULL_VALUE=0;function localMessageMapper(field){if(usesJsonRepresentation(field))return{toMessage:local=>wktStructToReflect(
local),toLocal:message=>wktStructToLocal(message)};if(field.fieldKind=="message"&&!field.oneof&&isWrapperDesc(field.message)){
let wrapperDesc=field.message,valueLocalName=wrapperDesc.fields[0].localName;return{toMessage:local=>{let message=create(
wrapperDesc);return local!==void 0&&(message[valueLocalName]=local),message},toLocal:message=>message[valueLocalName]}}let childDesc=field.
message;return{toMessage:local=>local===void 0?create(childDesc):local,toLocal:message=>message}}function usesJsonRepresentation(field){
return field.message.typeName=="google.protobuf.Struct"&&field.parent.typeName!="google.protobuf.Value"}function wktStructToReflect(json2){
let struct={$typeName:"google.protobuf.Struct",fields:{}};if(isObject(json2))for(let k of Object.keys(json2))setOwn(struct.
fields,k,wktValueToReflect(json2[k]));return struct}function wktStructToLocal(val){let json2={};for(let k of Object.keys(
val.fields))setOwn(json2,k,wktValueToLocal(val.fields[k]));return json2}function wktValueToLocal(val){switch(val.kind.case){case"\
structValue":return wktStructToLocal(val.kind.value);case"listValue":return val.kind.value.values.map(wktValueToLocal);case"\
nullValue":case void 0:return null;default:return val.kind.value}}function wktValueToReflect(json2){let value={$typeName:"\
google.protobuf.Value",kind:{case:void 0}};switch(typeof json2){case"number":value.kind={case:"numberValue",value:json2};
break;case"string":value.kind={case:"stringValue",value:json2};break;case"boolean":value.kind={case:"boolValue",value:json2};
break;case"object":if(json2===null)value.kind={case:"nullValue",value:NULL_VALUE};else if(Array.isArray(json2)){let listValue={
$typeName:"google.protobuf.ListValue",values:[]};if(Array.isArray(json2))for(let e of json2)listValue.values.push(wktValueToReflect(
e));value.kind={case:"listValue",value:listValue}}else value.kind={case:"structValue",value:wktStructToReflect(json2)};break}
return value}var IMPLICIT4=2,LEGACY_REQUIRED2=3,writeDefaults={writeUnknownFields:!0};function makeWriteOptions(options){return options?
Object.assign(Object.assign({},writeDefaults),options):writeDefaults}function toBinary(schema,message,options){let writer=new BinaryWriter;
return compiledWriter(schema)(writer,makeWriteOptions(options),message),writer.finish()}var compiledWriters=new WeakMap;
function compiledWriter(desc){let compiled=compiledWriters.get(desc);return compiled===void 0&&(compiled=compileMessage(
desc)),compiled}function compileMessage(desc){let typeName=desc.typeName,sortedFields=desc.fields.concat().sort((a,b)=>a.
number-b.number),foreignField=sortedFields[0],fieldWriters=[],compiled=(writer,opts,message)=>{if(message.$typeName!==typeName&&
foreignField!==void 0)throw new FieldError(foreignField,`cannot use ${foreignField} with message ${message.$typeName}`,"\
ForeignFieldError");for(let i=0;i<fieldWriters.length;i++)fieldWriters[i](writer,opts,message);let unknown=message.$unknown;
if(unknown!==void 0&&opts.writeUnknownFields)for(let i=0;i<unknown.length;i++){let{no,wireType,data}=unknown[i];writer.tag(
no,wireType).raw(data)}};compiledWriters.set(desc,compiled);for(let field of sortedFields)fieldWriters.push(compileField(
field));return compiled}function compileField(field){switch(field.fieldKind){case"message":case"scalar":case"enum":return compileSingularField(
field);case"list":return compileListField(field);case"map":return compileMapField(field)}}function compileSingularField(field){
let writeValue=compileSingularValue(field),localName=field.localName;if(field.oneof){let oneofLocalName=field.oneof.localName;
return(writer,opts,message)=>{let oneof=message[oneofLocalName];oneof.case===localName&&writeValue(writer,opts,oneof.value)}}
if(field.presence!=IMPLICIT4){let requiredError=field.presence==LEGACY_REQUIRED2?`cannot encode ${field} to binary: requ\
ired field not set`:void 0;return(writer,opts,message)=>{let value=message[localName];if(value!==void 0&&Object.prototype.
hasOwnProperty.call(message,localName))writeValue(writer,opts,value);else if(requiredError!==void 0)throw new Error(requiredError)}}
if(field.fieldKind=="enum"){let zero=field.enum.values[0].number;return(writer,opts,message)=>{let value=message[localName];
value!==zero&&writeValue(writer,opts,value)}}switch(field.scalar){case ScalarType.BOOL:return(writer,opts,message)=>{let value=message[localName];
value!==!1&&writeValue(writer,opts,value)};case ScalarType.STRING:return(writer,opts,message)=>{let value=message[localName];
value!==""&&writeValue(writer,opts,value)};case ScalarType.BYTES:return(writer,opts,message)=>{let value=message[localName];
(!(value instanceof Uint8Array)||value.byteLength>0)&&writeValue(writer,opts,value)};case ScalarType.DOUBLE:case ScalarType.
FLOAT:return(writer,opts,message)=>{let value=message[localName];Object.is(value,0)||writeValue(writer,opts,value)};default:
return(writer,opts,message)=>{let value=message[localName];value!=0&&writeValue(writer,opts,value)}}}function compileSingularValue(field){
switch(field.fieldKind){case"message":{let{toMessage}=localMessageMapper(field),writeChild=compileChildWriter(field);return(writer,opts,value)=>{
writeChild(writer,opts,toMessage(value))}}case"scalar":case"enum":{let scalarType=field.fieldKind=="enum"?ScalarType.INT32:
field.scalar,fieldNo=field.number,wireType=writeTypeOfScalar(scalarType),writeScalar=compileScalarValue(scalarType,field.
parent.typeName,field.name);return(writer,opts,value)=>{writer.tag(fieldNo,wireType),writeScalar(writer,value)}}}}function compileListField(field){
let localName=field.localName,fieldNo=field.number;switch(field.listKind){case"message":{let{toMessage}=localMessageMapper(
field),writeChild=compileChildWriter(field);return(writer,opts,message)=>{let items2=message[localName];for(let i=0;i<items2.
length;i++)writeChild(writer,opts,toMessage(items2[i]))}}case"scalar":case"enum":{let scalarType=field.listKind=="enum"?
ScalarType.INT32:field.scalar,writeScalar=compileScalarValue(scalarType,field.parent.typeName,field.name);if(field.packed)
return(writer,opts,message)=>{let items2=message[localName];if(items2.length!=0){writer.tag(fieldNo,WireType.LengthDelimited).
fork();for(let i=0;i<items2.length;i++)writeScalar(writer,items2[i]);writer.join()}};let wireType=writeTypeOfScalar(scalarType);
return(writer,opts,message)=>{let items2=message[localName];for(let i=0;i<items2.length;i++)writer.tag(fieldNo,wireType),
writeScalar(writer,items2[i])}}}}function compileMapField(field){let localName=field.localName,fieldNo=field.number,writeKey=compileMapKey(
field);if(field.mapKind=="message"){let{toMessage}=localMessageMapper(field),writeMessage=compiledWriter(field.message);
return(writer,opts,message)=>{let record=message[localName],keys=Object.keys(record);for(let i=0;i<keys.length;i++){let key=keys[i];
writer.tag(fieldNo,WireType.LengthDelimited).fork(),writeKey(writer,key),writer.tag(2,WireType.LengthDelimited).fork(),writeMessage(
writer,opts,toMessage(record[key])),writer.join(),writer.join()}}}let scalarType=field.mapKind=="enum"?ScalarType.INT32:
field.scalar,valueWireType=writeTypeOfScalar(scalarType),writeScalar=compileScalarValue(scalarType,field.parent.typeName,
field.name);return(writer,opts,message)=>{let record=message[localName],keys=Object.keys(record);for(let i=0;i<keys.length;i++){
let key=keys[i];writer.tag(fieldNo,WireType.LengthDelimited).fork(),writeKey(writer,key),writer.tag(2,valueWireType),writeScalar(
writer,record[key]),writer.join()}}}function compileMapKey(field){let wireType=writeTypeOfScalar(field.mapKey),writeScalar=compileScalarValue(
field.mapKey,field.parent.typeName,field.name),convertKey=compileMapKeyConverter(field.mapKey);return(writer,key)=>{writer.
tag(1,wireType),writeScalar(writer,convertKey(key))}}function compileMapKeyConverter(type){switch(type){case ScalarType.
STRING:return key=>key;case ScalarType.BOOL:return key=>key==="true"?!0:key==="false"?!1:key;case ScalarType.UINT64:case ScalarType.
FIXED64:return key=>{try{return protoInt64.uParse(key)}catch{return key}};case ScalarType.INT64:case ScalarType.SFIXED64:case ScalarType.
SINT64:return key=>{try{return protoInt64.parse(key)}catch{return key}};default:return key=>{let n=Number.parseInt(key);
return Number.isFinite(n)?n:key}}}function compileScalarValue(type,messageName,fieldName){let writeScalar=compileScalarWrite(
type);return(writer,value)=>{try{writeScalar(writer,value)}catch(e){throw e instanceof Error?new Error(`cannot encode fi\
eld ${messageName}.${fieldName} to binary: ${e.message}`):e}}}function compileScalarWrite(type){switch(type){case ScalarType.
STRING:return(writer,value)=>writer.string(value);case ScalarType.BOOL:return(writer,value)=>writer.bool(value);case ScalarType.
DOUBLE:return(writer,value)=>writer.double(value);case ScalarType.FLOAT:return(writer,value)=>writer.float(value);case ScalarType.
INT32:return(writer,value)=>writer.int32(value);case ScalarType.INT64:return(writer,value)=>writer.int64(value);case ScalarType.
UINT64:return(writer,value)=>writer.uint64(value);case ScalarType.FIXED64:return(writer,value)=>writer.fixed64(value);case ScalarType.
BYTES:return(writer,value)=>writer.bytes(value);case ScalarType.FIXED32:return(writer,value)=>writer.fixed32(value);case ScalarType.
SFIXED32:return(writer,value)=>writer.sfixed32(value);case ScalarType.SFIXED64:return(writer,value)=>writer.sfixed64(value);case ScalarType.
SINT64:return(writer,value)=>writer.sint64(value);case ScalarType.UINT32:return(writer,value)=>writer.uint32(value);case ScalarType.
SINT32:return(writer,value)=>writer.sint32(value)}}function writeField(writer,opts,msg,field){compileField(field)(writer,
opts,msg[unsafeLocal])}function compileChildWriter(field){let fieldNo=field.number,writeMessage=compiledWriter(field.message);
return field.delimitedEncoding?(writer,opts,child)=>{writer.tag(fieldNo,WireType.StartGroup),writeMessage(writer,opts,child),
writer.tag(fieldNo,WireType.EndGroup)}:(writer,opts,child)=>{writer.tag(fieldNo,WireType.LengthDelimited).fork(),writeMessage(
writer,opts,child),writer.join()}}function writeTypeOfScalar(type){switch(type){case ScalarType.BYTES:case ScalarType.STRING:
return WireType.LengthDelimited;case ScalarType.DOUBLE:case ScalarType.FIXED64:case ScalarType.SFIXED64:return WireType.
Bit64;case ScalarType.FIXED32:case ScalarType.SFIXED32:case ScalarType.FLOAT:return WireType.Bit32;default:return WireType.
Varint}}function checkField(field,value){let check=field.fieldKind=="list"?isReflectList(value,field):field.fieldKind=="map"?isReflectMap(
value,field):checkSingular(field,value);if(check===!0)return;let reason;switch(field.fieldKind){case"list":reason=`expec\
ted ${formatReflectList(field)}, got ${formatVal(value)}`;break;case"map":reason=`expected ${formatReflectMap(field)}, g\
ot ${formatVal(value)}`;break;default:reason=reasonSingular(field,value,check)}return new FieldError(field,reason)}function checkListItem(field,index,value){
let check=checkSingular(field,value);if(check!==!0)return new FieldError(field,`list item #${index+1}: ${reasonSingular(
field,value,check)}`)}function checkMapEntry(field,key,value){let checkKey=checkScalarValue(field.mapKey)(key);if(checkKey!==
!0)return new FieldError(field,`invalid map key: ${reasonSingular({scalar:field.mapKey},key,checkKey)}`);let checkVal=checkSingular(
field,value);if(checkVal!==!0)return new FieldError(field,`map entry ${formatVal(key)}: ${reasonSingular(field,value,checkVal)}`)}
function checkSingular(field,value){return field.scalar!==void 0?checkScalarValue(field.scalar)(value):field.enum!==void 0?
field.enum.open?checkScalarValue(ScalarType.INT32)(value):field.enum.values.some(v=>v.number===value):isReflectMessage(value,
field.message)}function checkScalarValue(scalar){switch(scalar){case ScalarType.DOUBLE:return value=>typeof value=="numb\
er";case ScalarType.FLOAT:return value=>typeof value!="number"?!1:!Number.isFinite(Math.fround(value))&&Number.isFinite(
value)?`${value.toFixed()} out of range`:!0;case ScalarType.INT32:case ScalarType.SFIXED32:case ScalarType.SINT32:return value=>typeof value!=
"number"||!Number.isInteger(value)?!1:value>INT32_MAX||value<INT32_MIN?`${value.toFixed()} out of range`:!0;case ScalarType.
FIXED32:case ScalarType.UINT32:return value=>typeof value!="number"||!Number.isInteger(value)?!1:value>UINT32_MAX||value<
0?`${value.toFixed()} out of range`:!0;case ScalarType.BOOL:return value=>typeof value=="boolean";case ScalarType.STRING:
return value=>typeof value!="string"?!1:getTextEncoding().checkUtf8(value)||"invalid UTF8";case ScalarType.BYTES:return value=>value instanceof
Uint8Array;case ScalarType.INT64:case ScalarType.SFIXED64:case ScalarType.SINT64:return value=>{if(typeof value=="bigint"||
typeof value=="number"||typeof value=="string"&&value.length>0)try{return protoInt64.parse(value),!0}catch{return`${value}\
 out of range`}return!1};case ScalarType.FIXED64:case ScalarType.UINT64:return value=>{if(typeof value=="bigint"||typeof value==
"number"||typeof value=="string"&&value.length>0)try{return protoInt64.uParse(value),!0}catch{return`${value} out of ran\
ge`}return!1}}}function reasonSingular(field,val,details){return details=typeof details=="string"?`: ${details}`:`, got ${formatVal(
val)}`,field.scalar!==void 0?`expected ${scalarTypeDescription(field.scalar)}`+details:field.enum!==void 0?`expected ${field.
enum.toString()}`+details:`expected ${formatReflectMessage(field.message)}`+details}function formatVal(val){switch(typeof val){case"\
object":return val===null?"null":val instanceof Uint8Array?`Uint8Array(${val.length})`:Array.isArray(val)?`Array(${val.length}\
)`:isReflectList(val)?formatReflectList(val.field()):isReflectMap(val)?formatReflectMap(val.field()):isReflectMessage(val)?
formatReflectMessage(val.desc):isMessage(val)?`message ${val.$typeName}`:"object";case"string":return val.length>30?"str\
ing":`"${val.split('"').join('\\"')}"`;case"boolean":return String(val);case"number":return String(val);case"bigint":return String(
val)+"n";default:return typeof val}}function formatReflectMessage(desc){return`ReflectMessage (${desc.typeName})`}function formatReflectList(field){
switch(field.listKind){case"message":return`ReflectList (${field.message.toString()})`;case"enum":return`ReflectList (${field.
enum.toString()})`;case"scalar":return`ReflectList (${ScalarType[field.scalar]})`}}function formatReflectMap(field){switch(field.
mapKind){case"message":return`ReflectMap (${ScalarType[field.mapKey]}, ${field.message.toString()})`;case"enum":return`R\
eflectMap (${ScalarType[field.mapKey]}, ${field.enum.toString()})`;case"scalar":return`ReflectMap (${ScalarType[field.mapKey]}\
, ${ScalarType[field.scalar]})`}}function scalarTypeDescription(scalar){switch(scalar){case ScalarType.STRING:return"str\
ing";case ScalarType.BOOL:return"boolean";case ScalarType.INT64:case ScalarType.SINT64:case ScalarType.SFIXED64:return"b\
igint (int64)";case ScalarType.UINT64:case ScalarType.FIXED64:return"bigint (uint64)";case ScalarType.BYTES:return"Uint8\
Array";case ScalarType.DOUBLE:return"number (float64)";case ScalarType.FLOAT:return"number (float32)";case ScalarType.FIXED32:case ScalarType.
UINT32:return"number (uint32)";case ScalarType.INT32:case ScalarType.SFIXED32:case ScalarType.SINT32:return"number (int3\
2)"}}function reflect(messageDesc2,message,check=!0){return new ReflectMessageImpl(messageDesc2,message,check)}var messageSortedFields=new WeakMap,
ReflectMessageImpl=class{get sortedFields(){let cached=messageSortedFields.get(this.desc);if(cached)return cached;let sortedFields=this.
desc.fields.concat().sort((a,b)=>a.number-b.number);return messageSortedFields.set(this.desc,sortedFields),sortedFields}constructor(messageDesc2,message,check=!0){
this.lists=new Map,this.maps=new Map,this.check=check,this.desc=messageDesc2,this.message=this[unsafeLocal]=message??create(
messageDesc2),this.fields=messageDesc2.fields,this.oneofs=messageDesc2.oneofs,this.members=messageDesc2.members}findNumber(number){
return this._fieldsByNumber||(this._fieldsByNumber=new Map(this.desc.fields.map(f=>[f.number,f]))),this._fieldsByNumber.
get(number)}oneofCase(oneof){return assertOwn(this.message,oneof),unsafeOneofCase(this.message,oneof)}isSet(field){return assertOwn(
this.message,field),unsafeIsSet(this.message,field)}clear(field){assertOwn(this.message,field),unsafeClear(this.message,
field)}get(field){assertOwn(this.message,field);let value=unsafeGet(this.message,field);switch(field.fieldKind){case"lis\
t":let list=this.lists.get(field);return(!list||list[unsafeLocal]!==value)&&this.lists.set(field,list=new ReflectListImpl(
field,value,this.check)),list;case"map":let map=this.maps.get(field);return(!map||map[unsafeLocal]!==value)&&this.maps.set(
field,map=new ReflectMapImpl(field,value,this.check)),map;case"message":return messageToReflect(field,value,this.check);case"\
scalar":return value===void 0?scalarZeroValue(field.scalar,!1):longToReflect(field,value);case"enum":return value??field.
enum.values[0].number}}set(field,value){if(assertOwn(this.message,field),this.check){let err=checkField(field,value);if(err)
throw err}let local;field.fieldKind=="message"?local=messageToLocal(field,value):isReflectMap(value)||isReflectList(value)?
local=value[unsafeLocal]:local=longToLocal(field,value),unsafeSet(this.message,field,local)}getUnknown(){return this.message.
$unknown}setUnknown(value){this.message.$unknown=value}};function assertOwn(owner,member){if(member.parent.typeName!==owner.
$typeName)throw new FieldError(member,`cannot use ${member.toString()} with message ${owner.$typeName}`,"ForeignFieldErr\
or")}var ReflectListImpl=class{field(){return this._field}get size(){return this._arr.length}constructor(field,unsafeInput,check){
this._field=field,this._arr=this[unsafeLocal]=unsafeInput,this.check=check}get(index){let item=this._arr[index];return item===
void 0?void 0:listItemToReflect(this._field,item,this.check)}set(index,item){if(index<0||index>=this._arr.length)throw new FieldError(
this._field,`list item #${index+1}: out of range`);if(this.check){let err=checkListItem(this._field,index,item);if(err)throw err}
this._arr[index]=listItemToLocal(this._field,item)}add(item){if(this.check){let err=checkListItem(this._field,this._arr.
length,item);if(err)throw err}this._arr.push(listItemToLocal(this._field,item))}clear(){this._arr.splice(0,this._arr.length)}[Symbol.
iterator](){return this.values()}keys(){return this._arr.keys()}*values(){for(let item of this._arr)yield listItemToReflect(
this._field,item,this.check)}*entries(){for(let i=0;i<this._arr.length;i++)yield[i,listItemToReflect(this._field,this._arr[i],
this.check)]}};var ReflectMapImpl=class{constructor(field,unsafeInput,check=!0){this.obj=this[unsafeLocal]=unsafeInput??{},this.check=check,
this._field=field}field(){return this._field}set(key,value){if(this.check){let err=checkMapEntry(this._field,key,value);
if(err)throw err}return setOwn(this.obj,mapKeyToLocal(key),mapValueToLocal(this._field,value)),this}delete(key){let k=mapKeyToLocal(
key),has=Object.prototype.hasOwnProperty.call(this.obj,k);return has&&delete this.obj[k],has}clear(){for(let key of Object.
keys(this.obj))delete this.obj[key]}get(key){let val=getOwn(this.obj,mapKeyToLocal(key));return val!==void 0&&(val=mapValueToReflect(
this._field,val,this.check)),val}has(key){return Object.prototype.hasOwnProperty.call(this.obj,mapKeyToLocal(key))}*keys(){
for(let objKey of Object.keys(this.obj))yield mapKeyToReflect(objKey,this._field.mapKey)}*entries(){for(let objEntry of Object.
entries(this.obj))yield[mapKeyToReflect(objEntry[0],this._field.mapKey),mapValueToReflect(this._field,objEntry[1],this.check)]}[Symbol.
iterator](){return this.entries()}get size(){return Object.keys(this.obj).length}*values(){for(let val of Object.values(
this.obj))yield mapValueToReflect(this._field,val,this.check)}forEach(callbackfn,thisArg){for(let mapEntry of this.entries())
callbackfn.call(thisArg,mapEntry[1],mapEntry[0],this)}};function messageToLocal(field,value){return isReflectMessage(value)?
isWrapper(value.message)&&!field.oneof&&field.fieldKind=="message"?value.message.value:value.desc.typeName=="google.prot\
obuf.Struct"&&field.parent.typeName!="google.protobuf.Value"?wktStructToLocal(value.message):value.message:value}function messageToReflect(field,value,check){
return value!==void 0&&(isWrapperDesc(field.message)&&!field.oneof&&field.fieldKind=="message"?value={$typeName:field.message.
typeName,value:longToReflect(field.message.fields[0],value)}:field.message.typeName=="google.protobuf.Struct"&&field.parent.
typeName!="google.protobuf.Value"&&isObject(value)&&(value=wktStructToReflect(value))),new ReflectMessageImpl(field.message,
value,check)}function listItemToLocal(field,value){return field.listKind=="message"?messageToLocal(field,value):longToLocal(
field,value)}function listItemToReflect(field,value,check){return field.listKind=="message"?messageToReflect(field,value,
check):longToReflect(field,value)}function mapValueToLocal(field,value){return field.mapKind=="message"?messageToLocal(field,
value):longToLocal(field,value)}function mapValueToReflect(field,value,check){return field.mapKind=="message"?messageToReflect(
field,value,check):value}function mapKeyToLocal(key){return typeof key=="string"||typeof key=="number"?key:String(key)}function mapKeyToReflect(key,type){
switch(type){case ScalarType.STRING:return key;case ScalarType.INT32:case ScalarType.FIXED32:case ScalarType.UINT32:case ScalarType.
SFIXED32:case ScalarType.SINT32:{let n=Number.parseInt(key);if(Number.isFinite(n))return n;break}case ScalarType.BOOL:switch(key){case"\
true":return!0;case"false":return!1}break;case ScalarType.UINT64:case ScalarType.FIXED64:try{return protoInt64.uParse(key)}catch{}
break;default:try{return protoInt64.parse(key)}catch{}break}return key}function longToReflect(field,value){switch(field.
scalar){case ScalarType.INT64:case ScalarType.SFIXED64:case ScalarType.SINT64:"longAsString"in field&&field.longAsString&&
typeof value=="string"&&(value=protoInt64.parse(value));break;case ScalarType.FIXED64:case ScalarType.UINT64:"longAsStri\
ng"in field&&field.longAsString&&typeof value=="string"&&(value=protoInt64.uParse(value));break}return value}function longToLocal(field,value){
switch(field.scalar){case ScalarType.INT64:case ScalarType.SFIXED64:case ScalarType.SINT64:"longAsString"in field&&field.
longAsString?value=String(value):(typeof value=="string"||typeof value=="number")&&(value=protoInt64.parse(value));break;case ScalarType.
FIXED64:case ScalarType.UINT64:"longAsString"in field&&field.longAsString?value=String(value):(typeof value=="string"||typeof value==
"number")&&(value=protoInt64.uParse(value));break}return value}function messageDesc(file,path,...paths){return paths.reduce((acc,cur)=>acc.nestedMessages[cur],file.messages[path])}var file_google_protobuf_descriptor=boot({name:"google/protobuf/descriptor.proto",package:"google.protobuf",messageType:[
{name:"FileDescriptorSet",field:[{name:"file",number:1,type:11,label:3,typeName:".google.protobuf.FileDescriptorProto"}],
extensionRange:[{start:536e6,end:536000001}]},{name:"FileDescriptorProto",field:[{name:"name",number:1,type:9,label:1},{
name:"package",number:2,type:9,label:1},{name:"dependency",number:3,type:9,label:3},{name:"public_dependency",number:10,
type:5,label:3},{name:"weak_dependency",number:11,type:5,label:3},{name:"option_dependency",number:15,type:9,label:3},{name:"\
message_type",number:4,type:11,label:3,typeName:".google.protobuf.DescriptorProto"},{name:"enum_type",number:5,type:11,label:3,
typeName:".google.protobuf.EnumDescriptorProto"},{name:"service",number:6,type:11,label:3,typeName:".google.protobuf.Ser\
viceDescriptorProto"},{name:"extension",number:7,type:11,label:3,typeName:".google.protobuf.FieldDescriptorProto"},{name:"\
options",number:8,type:11,label:1,typeName:".google.protobuf.FileOptions"},{name:"source_code_info",number:9,type:11,label:1,
typeName:".google.protobuf.SourceCodeInfo"},{name:"syntax",number:12,type:9,label:1},{name:"edition",number:14,type:14,label:1,
typeName:".google.protobuf.Edition"}]},{name:"DescriptorProto",field:[{name:"name",number:1,type:9,label:1},{name:"field",
number:2,type:11,label:3,typeName:".google.protobuf.FieldDescriptorProto"},{name:"extension",number:6,type:11,label:3,typeName:"\
.google.protobuf.FieldDescriptorProto"},{name:"nested_type",number:3,type:11,label:3,typeName:".google.protobuf.Descript\
orProto"},{name:"enum_type",number:4,type:11,label:3,typeName:".google.protobuf.EnumDescriptorProto"},{name:"extension_r\
ange",number:5,type:11,label:3,typeName:".google.protobuf.DescriptorProto.ExtensionRange"},{name:"oneof_decl",number:8,type:11,
label:3,typeName:".google.protobuf.OneofDescriptorProto"},{name:"options",number:7,type:11,label:1,typeName:".google.pro\
tobuf.MessageOptions"},{name:"reserved_range",number:9,type:11,label:3,typeName:".google.protobuf.DescriptorProto.Reserv\
edRange"},{name:"reserved_name",number:10,type:9,label:3},{name:"visibility",number:11,type:14,label:1,typeName:".google\
.protobuf.SymbolVisibility"}],nestedType:[{name:"ExtensionRange",field:[{name:"start",number:1,type:5,label:1},{name:"en\
d",number:2,type:5,label:1},{name:"options",number:3,type:11,label:1,typeName:".google.protobuf.ExtensionRangeOptions"}]},
{name:"ReservedRange",field:[{name:"start",number:1,type:5,label:1},{name:"end",number:2,type:5,label:1}]}]},{name:"Exte\
nsionRangeOptions",field:[{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.Uninterpret\
edOption"},{name:"declaration",number:2,type:11,label:3,typeName:".google.protobuf.ExtensionRangeOptions.Declaration",options:{
retention:2}},{name:"features",number:50,type:11,label:1,typeName:".google.protobuf.FeatureSet"},{name:"verification",number:3,
type:14,label:1,typeName:".google.protobuf.ExtensionRangeOptions.VerificationState",defaultValue:"UNVERIFIED",options:{retention:2}}],
nestedType:[{name:"Declaration",field:[{name:"number",number:1,type:5,label:1},{name:"full_name",number:2,type:9,label:1},
{name:"type",number:3,type:9,label:1},{name:"reserved",number:5,type:8,label:1},{name:"repeated",number:6,type:8,label:1}]}],
enumType:[{name:"VerificationState",value:[{name:"DECLARATION",number:0},{name:"UNVERIFIED",number:1}]}],extensionRange:[
{start:990,end:999},{start:1e3,end:536870912}]},{name:"FieldDescriptorProto",field:[{name:"name",number:1,type:9,label:1},
{name:"number",number:3,type:5,label:1},{name:"label",number:4,type:14,label:1,typeName:".google.protobuf.FieldDescripto\
rProto.Label"},{name:"type",number:5,type:14,label:1,typeName:".google.protobuf.FieldDescriptorProto.Type"},{name:"type_\
name",number:6,type:9,label:1},{name:"extendee",number:2,type:9,label:1},{name:"default_value",number:7,type:9,label:1},
{name:"oneof_index",number:9,type:5,label:1},{name:"json_name",number:10,type:9,label:1},{name:"options",number:8,type:11,
label:1,typeName:".google.protobuf.FieldOptions"},{name:"proto3_optional",number:17,type:8,label:1}],enumType:[{name:"Ty\
pe",value:[{name:"TYPE_DOUBLE",number:1},{name:"TYPE_FLOAT",number:2},{name:"TYPE_INT64",number:3},{name:"TYPE_UINT64",number:4},
{name:"TYPE_INT32",number:5},{name:"TYPE_FIXED64",number:6},{name:"TYPE_FIXED32",number:7},{name:"TYPE_BOOL",number:8},{
name:"TYPE_STRING",number:9},{name:"TYPE_GROUP",number:10},{name:"TYPE_MESSAGE",number:11},{name:"TYPE_BYTES",number:12},
{name:"TYPE_UINT32",number:13},{name:"TYPE_ENUM",number:14},{name:"TYPE_SFIXED32",number:15},{name:"TYPE_SFIXED64",number:16},
{name:"TYPE_SINT32",number:17},{name:"TYPE_SINT64",number:18}]},{name:"Label",value:[{name:"LABEL_OPTIONAL",number:1},{name:"\
LABEL_REPEATED",number:3},{name:"LABEL_REQUIRED",number:2}]}]},{name:"OneofDescriptorProto",field:[{name:"name",number:1,
type:9,label:1},{name:"options",number:2,type:11,label:1,typeName:".google.protobuf.OneofOptions"}]},{name:"EnumDescript\
orProto",field:[{name:"name",number:1,type:9,label:1},{name:"value",number:2,type:11,label:3,typeName:".google.protobuf.\
EnumValueDescriptorProto"},{name:"options",number:3,type:11,label:1,typeName:".google.protobuf.EnumOptions"},{name:"rese\
rved_range",number:4,type:11,label:3,typeName:".google.protobuf.EnumDescriptorProto.EnumReservedRange"},{name:"reserved_\
name",number:5,type:9,label:3},{name:"visibility",number:6,type:14,label:1,typeName:".google.protobuf.SymbolVisibility"}],
nestedType:[{name:"EnumReservedRange",field:[{name:"start",number:1,type:5,label:1},{name:"end",number:2,type:5,label:1}]}]},
{name:"EnumValueDescriptorProto",field:[{name:"name",number:1,type:9,label:1},{name:"number",number:2,type:5,label:1},{name:"\
options",number:3,type:11,label:1,typeName:".google.protobuf.EnumValueOptions"}]},{name:"ServiceDescriptorProto",field:[
{name:"name",number:1,type:9,label:1},{name:"method",number:2,type:11,label:3,typeName:".google.protobuf.MethodDescripto\
rProto"},{name:"options",number:3,type:11,label:1,typeName:".google.protobuf.ServiceOptions"}]},{name:"MethodDescriptorP\
roto",field:[{name:"name",number:1,type:9,label:1},{name:"input_type",number:2,type:9,label:1},{name:"output_type",number:3,
type:9,label:1},{name:"options",number:4,type:11,label:1,typeName:".google.protobuf.MethodOptions"},{name:"client_stream\
ing",number:5,type:8,label:1,defaultValue:"false"},{name:"server_streaming",number:6,type:8,label:1,defaultValue:"false"}]},
{name:"FileOptions",field:[{name:"java_package",number:1,type:9,label:1},{name:"java_outer_classname",number:8,type:9,label:1},
{name:"java_multiple_files",number:10,type:8,label:1,defaultValue:"false",options:{}},{name:"java_generate_equals_and_ha\
sh",number:20,type:8,label:1,options:{deprecated:!0}},{name:"java_string_check_utf8",number:27,type:8,label:1,defaultValue:"\
false"},{name:"optimize_for",number:9,type:14,label:1,typeName:".google.protobuf.FileOptions.OptimizeMode",defaultValue:"\
SPEED"},{name:"go_package",number:11,type:9,label:1},{name:"cc_generic_services",number:16,type:8,label:1,defaultValue:"\
false"},{name:"java_generic_services",number:17,type:8,label:1,defaultValue:"false"},{name:"py_generic_services",number:18,
type:8,label:1,defaultValue:"false"},{name:"deprecated",number:23,type:8,label:1,defaultValue:"false"},{name:"cc_enable_\
arenas",number:31,type:8,label:1,defaultValue:"true",options:{}},{name:"objc_class_prefix",number:36,type:9,label:1},{name:"\
csharp_namespace",number:37,type:9,label:1},{name:"swift_prefix",number:39,type:9,label:1},{name:"php_class_prefix",number:40,
type:9,label:1},{name:"php_namespace",number:41,type:9,label:1},{name:"php_metadata_namespace",number:44,type:9,label:1},
{name:"ruby_package",number:45,type:9,label:1},{name:"features",number:50,type:11,label:1,typeName:".google.protobuf.Fea\
tureSet"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.UninterpretedOption"}],enumType:[
{name:"OptimizeMode",value:[{name:"SPEED",number:1},{name:"CODE_SIZE",number:2},{name:"LITE_RUNTIME",number:3}]}],extensionRange:[
{start:990,end:999},{start:1e3,end:536870912}]},{name:"MessageOptions",field:[{name:"message_set_wire_format",number:1,type:8,
label:1,defaultValue:"false"},{name:"no_standard_descriptor_accessor",number:2,type:8,label:1,defaultValue:"false"},{name:"\
deprecated",number:3,type:8,label:1,defaultValue:"false"},{name:"map_entry",number:7,type:8,label:1},{name:"deprecated_l\
egacy_json_field_conflicts",number:11,type:8,label:1,options:{deprecated:!0}},{name:"features",number:12,type:11,label:1,
typeName:".google.protobuf.FeatureSet"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protob\
uf.UninterpretedOption"}],extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},{name:"FieldOptions",field:[{name:"\
ctype",number:1,type:14,label:1,typeName:".google.protobuf.FieldOptions.CType",defaultValue:"STRING"},{name:"packed",number:2,
type:8,label:1},{name:"jstype",number:6,type:14,label:1,typeName:".google.protobuf.FieldOptions.JSType",defaultValue:"JS\
_NORMAL"},{name:"lazy",number:5,type:8,label:1,defaultValue:"false"},{name:"unverified_lazy",number:15,type:8,label:1,defaultValue:"\
false"},{name:"deprecated",number:3,type:8,label:1,defaultValue:"false"},{name:"weak",number:10,type:8,label:1,defaultValue:"\
false",options:{deprecated:!0}},{name:"debug_redact",number:16,type:8,label:1,defaultValue:"false"},{name:"retention",number:17,
type:14,label:1,typeName:".google.protobuf.FieldOptions.OptionRetention"},{name:"targets",number:19,type:14,label:3,typeName:"\
.google.protobuf.FieldOptions.OptionTargetType"},{name:"edition_defaults",number:20,type:11,label:3,typeName:".google.pr\
otobuf.FieldOptions.EditionDefault"},{name:"features",number:21,type:11,label:1,typeName:".google.protobuf.FeatureSet"},
{name:"feature_support",number:22,type:11,label:1,typeName:".google.protobuf.FieldOptions.FeatureSupport"},{name:"uninte\
rpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.UninterpretedOption"}],nestedType:[{name:"EditionD\
efault",field:[{name:"edition",number:3,type:14,label:1,typeName:".google.protobuf.Edition"},{name:"value",number:2,type:9,
label:1}]},{name:"FeatureSupport",field:[{name:"edition_introduced",number:1,type:14,label:1,typeName:".google.protobuf.\
Edition"},{name:"edition_deprecated",number:2,type:14,label:1,typeName:".google.protobuf.Edition"},{name:"deprecation_wa\
rning",number:3,type:9,label:1},{name:"edition_removed",number:4,type:14,label:1,typeName:".google.protobuf.Edition"},{name:"\
removal_error",number:5,type:9,label:1}]}],enumType:[{name:"CType",value:[{name:"STRING",number:0},{name:"CORD",number:1},
{name:"STRING_PIECE",number:2}]},{name:"JSType",value:[{name:"JS_NORMAL",number:0},{name:"JS_STRING",number:1},{name:"JS\
_NUMBER",number:2}]},{name:"OptionRetention",value:[{name:"RETENTION_UNKNOWN",number:0},{name:"RETENTION_RUNTIME",number:1},
{name:"RETENTION_SOURCE",number:2}]},{name:"OptionTargetType",value:[{name:"TARGET_TYPE_UNKNOWN",number:0},{name:"TARGET\
_TYPE_FILE",number:1},{name:"TARGET_TYPE_EXTENSION_RANGE",number:2},{name:"TARGET_TYPE_MESSAGE",number:3},{name:"TARGET_\
TYPE_FIELD",number:4},{name:"TARGET_TYPE_ONEOF",number:5},{name:"TARGET_TYPE_ENUM",number:6},{name:"TARGET_TYPE_ENUM_ENT\
RY",number:7},{name:"TARGET_TYPE_SERVICE",number:8},{name:"TARGET_TYPE_METHOD",number:9}]}],extensionRange:[{start:990,end:999},
{start:1e3,end:536870912}]},{name:"OneofOptions",field:[{name:"features",number:1,type:11,label:1,typeName:".google.prot\
obuf.FeatureSet"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.UninterpretedOption"}],
extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},{name:"EnumOptions",field:[{name:"allow_alias",number:2,
type:8,label:1},{name:"deprecated",number:3,type:8,label:1,defaultValue:"false"},{name:"deprecated_legacy_json_field_con\
flicts",number:6,type:8,label:1,options:{deprecated:!0}},{name:"features",number:7,type:11,label:1,typeName:".google.pro\
tobuf.FeatureSet"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.UninterpretedOptio\
n"}],extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},{name:"EnumValueOptions",field:[{name:"deprecated",
number:1,type:8,label:1,defaultValue:"false"},{name:"features",number:2,type:11,label:1,typeName:".google.protobuf.Featu\
reSet"},{name:"debug_redact",number:3,type:8,label:1,defaultValue:"false"},{name:"feature_support",number:4,type:11,label:1,
typeName:".google.protobuf.FieldOptions.FeatureSupport"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:"\
.google.protobuf.UninterpretedOption"}],extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},{name:"ServiceOp\
tions",field:[{name:"features",number:34,type:11,label:1,typeName:".google.protobuf.FeatureSet"},{name:"deprecated",number:33,
type:8,label:1,defaultValue:"false"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".google.protobuf.\
UninterpretedOption"}],extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},{name:"MethodOptions",field:[{name:"\
deprecated",number:33,type:8,label:1,defaultValue:"false"},{name:"idempotency_level",number:34,type:14,label:1,typeName:"\
.google.protobuf.MethodOptions.IdempotencyLevel",defaultValue:"IDEMPOTENCY_UNKNOWN"},{name:"features",number:35,type:11,
label:1,typeName:".google.protobuf.FeatureSet"},{name:"uninterpreted_option",number:999,type:11,label:3,typeName:".googl\
e.protobuf.UninterpretedOption"}],enumType:[{name:"IdempotencyLevel",value:[{name:"IDEMPOTENCY_UNKNOWN",number:0},{name:"\
NO_SIDE_EFFECTS",number:1},{name:"IDEMPOTENT",number:2}]}],extensionRange:[{start:990,end:999},{start:1e3,end:536870912}]},
{name:"UninterpretedOption",field:[{name:"name",number:2,type:11,label:3,typeName:".google.protobuf.UninterpretedOption.\
NamePart"},{name:"identifier_value",number:3,type:9,label:1},{name:"positive_int_value",number:4,type:4,label:1},{name:"\
negative_int_value",number:5,type:3,label:1},{name:"double_value",number:6,type:1,label:1},{name:"string_value",number:7,
type:12,label:1},{name:"aggregate_value",number:8,type:9,label:1}],nestedType:[{name:"NamePart",field:[{name:"name_part",
number:1,type:9,label:2},{name:"is_extension",number:2,type:8,label:2}]}]},{name:"FeatureSet",field:[{name:"field_presen\
ce",number:1,type:14,label:1,typeName:".google.protobuf.FeatureSet.FieldPresence",options:{retention:1,targets:[4,1],editionDefaults:[
{value:"EXPLICIT",edition:900},{value:"IMPLICIT",edition:999},{value:"EXPLICIT",edition:1e3}]}},{name:"enum_type",number:2,
type:14,label:1,typeName:".google.protobuf.FeatureSet.EnumType",options:{retention:1,targets:[6,1],editionDefaults:[{value:"\
CLOSED",edition:900},{value:"OPEN",edition:999}]}},{name:"repeated_field_encoding",number:3,type:14,label:1,typeName:".g\
oogle.protobuf.FeatureSet.RepeatedFieldEncoding",options:{retention:1,targets:[4,1],editionDefaults:[{value:"EXPANDED",edition:900},
{value:"PACKED",edition:999}]}},{name:"utf8_validation",number:4,type:14,label:1,typeName:".google.protobuf.FeatureSet.U\
tf8Validation",options:{retention:1,targets:[4,1],editionDefaults:[{value:"NONE",edition:900},{value:"VERIFY",edition:999}]}},
{name:"message_encoding",number:5,type:14,label:1,typeName:".google.protobuf.FeatureSet.MessageEncoding",options:{retention:1,
targets:[4,1],editionDefaults:[{value:"LENGTH_PREFIXED",edition:900}]}},{name:"json_format",number:6,type:14,label:1,typeName:"\
.google.protobuf.FeatureSet.JsonFormat",options:{retention:1,targets:[3,6,1],editionDefaults:[{value:"LEGACY_BEST_EFFORT",
edition:900},{value:"ALLOW",edition:999}]}},{name:"enforce_naming_style",number:7,type:14,label:1,typeName:".google.prot\
obuf.FeatureSet.EnforceNamingStyle",options:{retention:2,targets:[1,2,3,4,5,6,7,8,9],editionDefaults:[{value:"STYLE_LEGA\
CY",edition:900},{value:"STYLE2024",edition:1001},{value:"STYLE2026",edition:1002}]}},{name:"default_symbol_visibility",
number:8,type:14,label:1,typeName:".google.protobuf.FeatureSet.VisibilityFeature.DefaultSymbolVisibility",options:{retention:2,
targets:[1],editionDefaults:[{value:"EXPORT_ALL",edition:900},{value:"EXPORT_TOP_LEVEL",edition:1001},{value:"STRICT",edition:1002}]}},
{name:"enforce_proto_limits",number:9,type:14,label:1,typeName:".google.protobuf.FeatureSet.ProtoLimitsFeature.EnforcePr\
otoLimits",options:{retention:2,targets:[6,3,4,5],editionDefaults:[{value:"LEGACY_NO_EXPLICIT_LIMITS",edition:900},{value:"\
PROTO_LIMITS2026",edition:1002}]}}],nestedType:[{name:"VisibilityFeature",enumType:[{name:"DefaultSymbolVisibility",value:[
{name:"DEFAULT_SYMBOL_VISIBILITY_UNKNOWN",number:0},{name:"EXPORT_ALL",number:1},{name:"EXPORT_TOP_LEVEL",number:2},{name:"\
LOCAL_ALL",number:3},{name:"STRICT",number:4}]}]},{name:"ProtoLimitsFeature",enumType:[{name:"EnforceProtoLimits",value:[
{name:"PROTO_LIMITS_UNKNOWN",number:0},{name:"LEGACY_NO_EXPLICIT_LIMITS",number:1},{name:"PROTO_LIMITS2026",number:2}]}]}],
enumType:[{name:"FieldPresence",value:[{name:"FIELD_PRESENCE_UNKNOWN",number:0},{name:"EXPLICIT",number:1},{name:"IMPLIC\
IT",number:2},{name:"LEGACY_REQUIRED",number:3}]},{name:"EnumType",value:[{name:"ENUM_TYPE_UNKNOWN",number:0},{name:"OPE\
N",number:1},{name:"CLOSED",number:2}]},{name:"RepeatedFieldEncoding",value:[{name:"REPEATED_FIELD_ENCODING_UNKNOWN",number:0},
{name:"PACKED",number:1},{name:"EXPANDED",number:2}]},{name:"Utf8Validation",value:[{name:"UTF8_VALIDATION_UNKNOWN",number:0},
{name:"VERIFY",number:2},{name:"NONE",number:3}]},{name:"MessageEncoding",value:[{name:"MESSAGE_ENCODING_UNKNOWN",number:0},
{name:"LENGTH_PREFIXED",number:1},{name:"DELIMITED",number:2}]},{name:"JsonFormat",value:[{name:"JSON_FORMAT_UNKNOWN",number:0},
{name:"ALLOW",number:1},{name:"LEGACY_BEST_EFFORT",number:2}]},{name:"EnforceNamingStyle",value:[{name:"ENFORCE_NAMING_S\
TYLE_UNKNOWN",number:0},{name:"STYLE2024",number:1},{name:"STYLE_LEGACY",number:2},{name:"STYLE2026",number:3}]}],extensionRange:[
{start:1e3,end:9995},{start:9995,end:1e4},{start:1e4,end:10001}]},{name:"FeatureSetDefaults",field:[{name:"defaults",number:1,
type:11,label:3,typeName:".google.protobuf.FeatureSetDefaults.FeatureSetEditionDefault"},{name:"minimum_edition",number:4,
type:14,label:1,typeName:".google.protobuf.Edition"},{name:"maximum_edition",number:5,type:14,label:1,typeName:".google.\
protobuf.Edition"}],nestedType:[{name:"FeatureSetEditionDefault",field:[{name:"edition",number:3,type:14,label:1,typeName:"\
.google.protobuf.Edition"},{name:"overridable_features",number:4,type:11,label:1,typeName:".google.protobuf.FeatureSet"},
{name:"fixed_features",number:5,type:11,label:1,typeName:".google.protobuf.FeatureSet"}]}]},{name:"SourceCodeInfo",field:[
{name:"location",number:1,type:11,label:3,typeName:".google.protobuf.SourceCodeInfo.Location"}],nestedType:[{name:"Locat\
ion",field:[{name:"path",number:1,type:5,label:3,options:{packed:!0}},{name:"span",number:2,type:5,label:3,options:{packed:!0}},
{name:"leading_comments",number:3,type:9,label:1},{name:"trailing_comments",number:4,type:9,label:1},{name:"leading_deta\
ched_comments",number:6,type:9,label:3}]}],extensionRange:[{start:536e6,end:536000001}]},{name:"GeneratedCodeInfo",field:[
{name:"annotation",number:1,type:11,label:3,typeName:".google.protobuf.GeneratedCodeInfo.Annotation"}],nestedType:[{name:"\
Annotation",field:[{name:"path",number:1,type:5,label:3,options:{packed:!0}},{name:"source_file",number:2,type:9,label:1},
{name:"begin",number:3,type:5,label:1},{name:"end",number:4,type:5,label:1},{name:"semantic",number:5,type:14,label:1,typeName:"\
.google.protobuf.GeneratedCodeInfo.Annotation.Semantic"}],enumType:[{name:"Semantic",value:[{name:"NONE",number:0},{name:"\
SET",number:1},{name:"ALIAS",number:2}]}]}]}],enumType:[{name:"Edition",value:[{name:"EDITION_UNKNOWN",number:0},{name:"\
EDITION_LEGACY",number:900},{name:"EDITION_PROTO2",number:998},{name:"EDITION_PROTO3",number:999},{name:"EDITION_2023",number:1e3},
{name:"EDITION_2024",number:1001},{name:"EDITION_2026",number:1002},{name:"EDITION_UNSTABLE",number:9999},{name:"EDITION\
_1_TEST_ONLY",number:1},{name:"EDITION_2_TEST_ONLY",number:2},{name:"EDITION_99997_TEST_ONLY",number:99997},{name:"EDITI\
ON_99998_TEST_ONLY",number:99998},{name:"EDITION_99999_TEST_ONLY",number:99999},{name:"EDITION_MAX",number:2147483647}]},
{name:"SymbolVisibility",value:[{name:"VISIBILITY_UNSET",number:0},{name:"VISIBILITY_LOCAL",number:1},{name:"VISIBILITY_\
EXPORT",number:2}]}]});var FileDescriptorProtoSchema=messageDesc(file_google_protobuf_descriptor,1);var ExtensionRangeOptions_VerificationState;(function(ExtensionRangeOptions_VerificationState2){ExtensionRangeOptions_VerificationState2[ExtensionRangeOptions_VerificationState2.
DECLARATION=0]="DECLARATION",ExtensionRangeOptions_VerificationState2[ExtensionRangeOptions_VerificationState2.UNVERIFIED=
1]="UNVERIFIED"})(ExtensionRangeOptions_VerificationState||(ExtensionRangeOptions_VerificationState={}));var FieldDescriptorProto_Type;(function(FieldDescriptorProto_Type2){FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
DOUBLE=1]="DOUBLE",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.FLOAT=2]="FLOAT",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
INT64=3]="INT64",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.UINT64=4]="UINT64",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
INT32=5]="INT32",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.FIXED64=6]="FIXED64",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
FIXED32=7]="FIXED32",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.BOOL=8]="BOOL",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
STRING=9]="STRING",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.GROUP=10]="GROUP",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
MESSAGE=11]="MESSAGE",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.BYTES=12]="BYTES",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
UINT32=13]="UINT32",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.ENUM=14]="ENUM",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
SFIXED32=15]="SFIXED32",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.SFIXED64=16]="SFIXED64",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.
SINT32=17]="SINT32",FieldDescriptorProto_Type2[FieldDescriptorProto_Type2.SINT64=18]="SINT64"})(FieldDescriptorProto_Type||
(FieldDescriptorProto_Type={}));var FieldDescriptorProto_Label;(function(FieldDescriptorProto_Label2){FieldDescriptorProto_Label2[FieldDescriptorProto_Label2.
OPTIONAL=1]="OPTIONAL",FieldDescriptorProto_Label2[FieldDescriptorProto_Label2.REPEATED=3]="REPEATED",FieldDescriptorProto_Label2[FieldDescriptorProto_Label2.
REQUIRED=2]="REQUIRED"})(FieldDescriptorProto_Label||(FieldDescriptorProto_Label={}));var FileOptions_OptimizeMode;(function(FileOptions_OptimizeMode2){FileOptions_OptimizeMode2[FileOptions_OptimizeMode2.SPEED=
1]="SPEED",FileOptions_OptimizeMode2[FileOptions_OptimizeMode2.CODE_SIZE=2]="CODE_SIZE",FileOptions_OptimizeMode2[FileOptions_OptimizeMode2.
LITE_RUNTIME=3]="LITE_RUNTIME"})(FileOptions_OptimizeMode||(FileOptions_OptimizeMode={}));var FieldOptions_CType;(function(FieldOptions_CType2){FieldOptions_CType2[FieldOptions_CType2.STRING=0]="STRING",FieldOptions_CType2[FieldOptions_CType2.
CORD=1]="CORD",FieldOptions_CType2[FieldOptions_CType2.STRING_PIECE=2]="STRING_PIECE"})(FieldOptions_CType||(FieldOptions_CType=
{}));var FieldOptions_JSType;(function(FieldOptions_JSType2){FieldOptions_JSType2[FieldOptions_JSType2.JS_NORMAL=0]="JS_NORMA\
L",FieldOptions_JSType2[FieldOptions_JSType2.JS_STRING=1]="JS_STRING",FieldOptions_JSType2[FieldOptions_JSType2.JS_NUMBER=
2]="JS_NUMBER"})(FieldOptions_JSType||(FieldOptions_JSType={}));var FieldOptions_OptionRetention;(function(FieldOptions_OptionRetention2){FieldOptions_OptionRetention2[FieldOptions_OptionRetention2.
RETENTION_UNKNOWN=0]="RETENTION_UNKNOWN",FieldOptions_OptionRetention2[FieldOptions_OptionRetention2.RETENTION_RUNTIME=1]=
"RETENTION_RUNTIME",FieldOptions_OptionRetention2[FieldOptions_OptionRetention2.RETENTION_SOURCE=2]="RETENTION_SOURCE"})(
FieldOptions_OptionRetention||(FieldOptions_OptionRetention={}));var FieldOptions_OptionTargetType;(function(FieldOptions_OptionTargetType2){FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.
TARGET_TYPE_UNKNOWN=0]="TARGET_TYPE_UNKNOWN",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_FILE=
1]="TARGET_TYPE_FILE",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_EXTENSION_RANGE=2]="TARG\
ET_TYPE_EXTENSION_RANGE",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_MESSAGE=3]="TARGET_TY\
PE_MESSAGE",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_FIELD=4]="TARGET_TYPE_FIELD",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.
TARGET_TYPE_ONEOF=5]="TARGET_TYPE_ONEOF",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_ENUM=
6]="TARGET_TYPE_ENUM",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_ENUM_ENTRY=7]="TARGET_TY\
PE_ENUM_ENTRY",FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_SERVICE=8]="TARGET_TYPE_SERVICE",
FieldOptions_OptionTargetType2[FieldOptions_OptionTargetType2.TARGET_TYPE_METHOD=9]="TARGET_TYPE_METHOD"})(FieldOptions_OptionTargetType||
(FieldOptions_OptionTargetType={}));var MethodOptions_IdempotencyLevel;(function(MethodOptions_IdempotencyLevel2){MethodOptions_IdempotencyLevel2[MethodOptions_IdempotencyLevel2.
IDEMPOTENCY_UNKNOWN=0]="IDEMPOTENCY_UNKNOWN",MethodOptions_IdempotencyLevel2[MethodOptions_IdempotencyLevel2.NO_SIDE_EFFECTS=
1]="NO_SIDE_EFFECTS",MethodOptions_IdempotencyLevel2[MethodOptions_IdempotencyLevel2.IDEMPOTENT=2]="IDEMPOTENT"})(MethodOptions_IdempotencyLevel||
(MethodOptions_IdempotencyLevel={}));var FeatureSet_VisibilityFeature_DefaultSymbolVisibility;(function(FeatureSet_VisibilityFeature_DefaultSymbolVisibility2){
FeatureSet_VisibilityFeature_DefaultSymbolVisibility2[FeatureSet_VisibilityFeature_DefaultSymbolVisibility2.DEFAULT_SYMBOL_VISIBILITY_UNKNOWN=
0]="DEFAULT_SYMBOL_VISIBILITY_UNKNOWN",FeatureSet_VisibilityFeature_DefaultSymbolVisibility2[FeatureSet_VisibilityFeature_DefaultSymbolVisibility2.
EXPORT_ALL=1]="EXPORT_ALL",FeatureSet_VisibilityFeature_DefaultSymbolVisibility2[FeatureSet_VisibilityFeature_DefaultSymbolVisibility2.
EXPORT_TOP_LEVEL=2]="EXPORT_TOP_LEVEL",FeatureSet_VisibilityFeature_DefaultSymbolVisibility2[FeatureSet_VisibilityFeature_DefaultSymbolVisibility2.
LOCAL_ALL=3]="LOCAL_ALL",FeatureSet_VisibilityFeature_DefaultSymbolVisibility2[FeatureSet_VisibilityFeature_DefaultSymbolVisibility2.
STRICT=4]="STRICT"})(FeatureSet_VisibilityFeature_DefaultSymbolVisibility||(FeatureSet_VisibilityFeature_DefaultSymbolVisibility=
{}));var FeatureSet_ProtoLimitsFeature_EnforceProtoLimits;(function(FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2){FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2[FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2.
PROTO_LIMITS_UNKNOWN=0]="PROTO_LIMITS_UNKNOWN",FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2[FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2.
LEGACY_NO_EXPLICIT_LIMITS=1]="LEGACY_NO_EXPLICIT_LIMITS",FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2[FeatureSet_ProtoLimitsFeature_EnforceProtoLimits2.
PROTO_LIMITS2026=2]="PROTO_LIMITS2026"})(FeatureSet_ProtoLimitsFeature_EnforceProtoLimits||(FeatureSet_ProtoLimitsFeature_EnforceProtoLimits=
{}));var FeatureSet_FieldPresence;(function(FeatureSet_FieldPresence2){FeatureSet_FieldPresence2[FeatureSet_FieldPresence2.FIELD_PRESENCE_UNKNOWN=
0]="FIELD_PRESENCE_UNKNOWN",FeatureSet_FieldPresence2[FeatureSet_FieldPresence2.EXPLICIT=1]="EXPLICIT",FeatureSet_FieldPresence2[FeatureSet_FieldPresence2.
IMPLICIT=2]="IMPLICIT",FeatureSet_FieldPresence2[FeatureSet_FieldPresence2.LEGACY_REQUIRED=3]="LEGACY_REQUIRED"})(FeatureSet_FieldPresence||
(FeatureSet_FieldPresence={}));var FeatureSet_EnumType;(function(FeatureSet_EnumType2){FeatureSet_EnumType2[FeatureSet_EnumType2.ENUM_TYPE_UNKNOWN=0]="\
ENUM_TYPE_UNKNOWN",FeatureSet_EnumType2[FeatureSet_EnumType2.OPEN=1]="OPEN",FeatureSet_EnumType2[FeatureSet_EnumType2.CLOSED=
2]="CLOSED"})(FeatureSet_EnumType||(FeatureSet_EnumType={}));var FeatureSet_RepeatedFieldEncoding;(function(FeatureSet_RepeatedFieldEncoding2){FeatureSet_RepeatedFieldEncoding2[FeatureSet_RepeatedFieldEncoding2.
REPEATED_FIELD_ENCODING_UNKNOWN=0]="REPEATED_FIELD_ENCODING_UNKNOWN",FeatureSet_RepeatedFieldEncoding2[FeatureSet_RepeatedFieldEncoding2.
PACKED=1]="PACKED",FeatureSet_RepeatedFieldEncoding2[FeatureSet_RepeatedFieldEncoding2.EXPANDED=2]="EXPANDED"})(FeatureSet_RepeatedFieldEncoding||
(FeatureSet_RepeatedFieldEncoding={}));var FeatureSet_Utf8Validation;(function(FeatureSet_Utf8Validation2){FeatureSet_Utf8Validation2[FeatureSet_Utf8Validation2.
UTF8_VALIDATION_UNKNOWN=0]="UTF8_VALIDATION_UNKNOWN",FeatureSet_Utf8Validation2[FeatureSet_Utf8Validation2.VERIFY=2]="VE\
RIFY",FeatureSet_Utf8Validation2[FeatureSet_Utf8Validation2.NONE=3]="NONE"})(FeatureSet_Utf8Validation||(FeatureSet_Utf8Validation=
{}));var FeatureSet_MessageEncoding;(function(FeatureSet_MessageEncoding2){FeatureSet_MessageEncoding2[FeatureSet_MessageEncoding2.
MESSAGE_ENCODING_UNKNOWN=0]="MESSAGE_ENCODING_UNKNOWN",FeatureSet_MessageEncoding2[FeatureSet_MessageEncoding2.LENGTH_PREFIXED=
1]="LENGTH_PREFIXED",FeatureSet_MessageEncoding2[FeatureSet_MessageEncoding2.DELIMITED=2]="DELIMITED"})(FeatureSet_MessageEncoding||
(FeatureSet_MessageEncoding={}));var FeatureSet_JsonFormat;(function(FeatureSet_JsonFormat2){FeatureSet_JsonFormat2[FeatureSet_JsonFormat2.JSON_FORMAT_UNKNOWN=
0]="JSON_FORMAT_UNKNOWN",FeatureSet_JsonFormat2[FeatureSet_JsonFormat2.ALLOW=1]="ALLOW",FeatureSet_JsonFormat2[FeatureSet_JsonFormat2.
LEGACY_BEST_EFFORT=2]="LEGACY_BEST_EFFORT"})(FeatureSet_JsonFormat||(FeatureSet_JsonFormat={}));var FeatureSet_EnforceNamingStyle;(function(FeatureSet_EnforceNamingStyle2){FeatureSet_EnforceNamingStyle2[FeatureSet_EnforceNamingStyle2.
ENFORCE_NAMING_STYLE_UNKNOWN=0]="ENFORCE_NAMING_STYLE_UNKNOWN",FeatureSet_EnforceNamingStyle2[FeatureSet_EnforceNamingStyle2.
STYLE2024=1]="STYLE2024",FeatureSet_EnforceNamingStyle2[FeatureSet_EnforceNamingStyle2.STYLE_LEGACY=2]="STYLE_LEGACY",FeatureSet_EnforceNamingStyle2[FeatureSet_EnforceNamingStyle2.
STYLE2026=3]="STYLE2026"})(FeatureSet_EnforceNamingStyle||(FeatureSet_EnforceNamingStyle={}));var GeneratedCodeInfo_Annotation_Semantic;(function(GeneratedCodeInfo_Annotation_Semantic2){GeneratedCodeInfo_Annotation_Semantic2[GeneratedCodeInfo_Annotation_Semantic2.
NONE=0]="NONE",GeneratedCodeInfo_Annotation_Semantic2[GeneratedCodeInfo_Annotation_Semantic2.SET=1]="SET",GeneratedCodeInfo_Annotation_Semantic2[GeneratedCodeInfo_Annotation_Semantic2.
ALIAS=2]="ALIAS"})(GeneratedCodeInfo_Annotation_Semantic||(GeneratedCodeInfo_Annotation_Semantic={}));var Edition;(function(Edition2){Edition2[Edition2.EDITION_UNKNOWN=0]="EDITION_UNKNOWN",Edition2[Edition2.EDITION_LEGACY=
900]="EDITION_LEGACY",Edition2[Edition2.EDITION_PROTO2=998]="EDITION_PROTO2",Edition2[Edition2.EDITION_PROTO3=999]="EDIT\
ION_PROTO3",Edition2[Edition2.EDITION_2023=1e3]="EDITION_2023",Edition2[Edition2.EDITION_2024=1001]="EDITION_2024",Edition2[Edition2.
EDITION_2026=1002]="EDITION_2026",Edition2[Edition2.EDITION_UNSTABLE=9999]="EDITION_UNSTABLE",Edition2[Edition2.EDITION_1_TEST_ONLY=
1]="EDITION_1_TEST_ONLY",Edition2[Edition2.EDITION_2_TEST_ONLY=2]="EDITION_2_TEST_ONLY",Edition2[Edition2.EDITION_99997_TEST_ONLY=
99997]="EDITION_99997_TEST_ONLY",Edition2[Edition2.EDITION_99998_TEST_ONLY=99998]="EDITION_99998_TEST_ONLY",Edition2[Edition2.
EDITION_99999_TEST_ONLY=99999]="EDITION_99999_TEST_ONLY",Edition2[Edition2.EDITION_MAX=2147483647]="EDITION_MAX"})(Edition||
(Edition={}));var SymbolVisibility;(function(SymbolVisibility2){SymbolVisibility2[SymbolVisibility2.VISIBILITY_UNSET=0]="VISIBILITY_UN\
SET",SymbolVisibility2[SymbolVisibility2.VISIBILITY_LOCAL=1]="VISIBILITY_LOCAL",SymbolVisibility2[SymbolVisibility2.VISIBILITY_EXPORT=
2]="VISIBILITY_EXPORT"})(SymbolVisibility||(SymbolVisibility={}));function extDesc(file,path,...paths){if(paths.length==0)return file.extensions[path];let e=paths.pop();return paths.reduce(
(acc,cur)=>acc.nestedMessages[cur],file.messages[path]).nestedExtensions[e]}function makeReadContext(options){return Object.assign(Object.assign({readUnknownFields:!0,recursionLimit:100},options),
{depth:0})}function fromBinary(schema,bytes,options){let message=create(schema);return compiledReader(schema).read(message,
new BinaryReader(bytes),makeReadContext(options),bytes.byteLength),message}var compiledReaders=new WeakMap;function compiledReader(desc){let compiled=compiledReaders.get(desc);return compiled===void 0&&
(compiled=compileMessage2(desc)),compiled}function compileMessage2(desc){let descString=String(desc),fieldReaders=new Map,
compiled={read:compileMessageReader(descString,fieldReaders),readGroup:compileGroupReader(descString,fieldReaders)};compiledReaders.
set(desc,compiled);for(let field of desc.fields)fieldReaders.set(field.number,compileFieldReader(field));return compiled}
function compileMessageReader(descString,fieldReaders){return(message,reader,ctx,length)=>{var _a;if(++ctx.depth>ctx.recursionLimit)
throw new Error(`cannot decode ${descString} from binary: maximum recursion depth of ${ctx.recursionLimit} reached`);let end=reader.
pos+length,unknownFields=(_a=message.$unknown)!==null&&_a!==void 0?_a:[];for(;reader.pos<end;){let[fieldNo,wireType]=reader.
tag(),fieldReader=fieldReaders.get(fieldNo);if(fieldReader===void 0){let data=reader.skip(wireType,fieldNo,ctx.recursionLimit-
ctx.depth);ctx.readUnknownFields&&unknownFields.push({no:fieldNo,wireType,data});continue}fieldReader(message,reader,ctx,
wireType)}unknownFields.length>0&&(message.$unknown=unknownFields),ctx.depth--}}function compileGroupReader(descString,fieldReaders){
return(message,reader,ctx,fieldNo)=>{var _a;if(++ctx.depth>ctx.recursionLimit)throw new Error(`cannot decode ${descString}\
 from binary: maximum recursion depth of ${ctx.recursionLimit} reached`);let recordFieldNo,wireType,unknownFields=(_a=message.
$unknown)!==null&&_a!==void 0?_a:[];for(;reader.pos<reader.len&&([recordFieldNo,wireType]=reader.tag(),wireType!=WireType.
EndGroup);){let fieldReader=fieldReaders.get(recordFieldNo);if(fieldReader===void 0){let data=reader.skip(wireType,recordFieldNo,
ctx.recursionLimit-ctx.depth);ctx.readUnknownFields&&unknownFields.push({no:recordFieldNo,wireType,data});continue}fieldReader(
message,reader,ctx,wireType)}if(wireType!=WireType.EndGroup||recordFieldNo!==fieldNo)throw new Error("invalid end group \
tag");unknownFields.length>0&&(message.$unknown=unknownFields),ctx.depth--}}function readField(message,reader,field,wireType,ctx){
compileFieldReader(field)(message[unsafeLocal],reader,ctx,wireType)}function compileFieldReader(field){switch(field.fieldKind){case"\
scalar":return compileScalarFieldReader(field);case"enum":return compileEnumFieldReader(field);case"message":return compileMessageFieldReader(
field);case"list":return compileListFieldReader(field);case"map":return compileMapFieldReader(field)}}function compileScalarFieldReader(field){
let readScalar=compileScalarReader(field.scalar,field.utf8Validation,field.longAsString),localName=field.localName;if(field.
oneof){let oneofLocalName=field.oneof.localName;return(message,reader)=>{message[oneofLocalName]={case:localName,value:readScalar(
reader)}}}return(message,reader)=>{message[localName]=readScalar(reader)}}function compileEnumFieldReader(field){var _a;
let localName=field.localName,oneofLocalName=(_a=field.oneof)===null||_a===void 0?void 0:_a.localName;if(field.enum.open)
return oneofLocalName!==void 0?(message,reader)=>{message[oneofLocalName]={case:localName,value:reader.int32()}}:(message,reader)=>{
message[localName]=reader.int32()};let values=field.enum.values,fieldNo=field.number;return(message,reader,ctx,wireType)=>{
var _a2;let val=reader.int32();if(values.some(v=>v.number===val))oneofLocalName!==void 0?message[oneofLocalName]={case:localName,
value:val}:message[localName]=val;else if(ctx.readUnknownFields){let bytes=[];varint32write(val,bytes);let unknownFields=(_a2=
message.$unknown)!==null&&_a2!==void 0?_a2:[];unknownFields.push({no:fieldNo,wireType,data:new Uint8Array(bytes)}),message.
$unknown=unknownFields}}}function compileMessageFieldReader(field){let localName=field.localName,{toMessage,toLocal}=localMessageMapper(
field),readChild=compileChildReader(field);if(field.oneof){let oneofLocalName=field.oneof.localName;return(message,reader,ctx)=>{
let oneof=message[oneofLocalName],child=toMessage(oneof.case===localName?oneof.value:void 0);readChild(child,reader,ctx),
message[oneofLocalName]={case:localName,value:toLocal(child)}}}return(message,reader,ctx)=>{let child=toMessage(message[localName]);
readChild(child,reader,ctx),message[localName]=toLocal(child)}}function compileChildReader(field){let compiledChild=compiledReader(
field.message);if(field.delimitedEncoding){let fieldNo=field.number;return(child,reader,ctx)=>compiledChild.readGroup(child,
reader,ctx,fieldNo)}return(child,reader,ctx)=>compiledChild.read(child,reader,ctx,reader.uint32())}function compileListFieldReader(field){
let localName=field.localName;if(field.listKind=="message"){let{toMessage,toLocal}=localMessageMapper(field),readChild=compileChildReader(
field);return(message,reader,ctx)=>{let child=toMessage(void 0);readChild(child,reader,ctx),message[localName].push(toLocal(
child))}}let scalarType=field.listKind=="enum"?ScalarType.INT32:field.scalar,longAsString=field.listKind=="scalar"?field.
longAsString:!1,readScalar=compileScalarReader(scalarType,field.utf8Validation,longAsString),packedPossible=scalarType!=
ScalarType.STRING&&scalarType!=ScalarType.BYTES;return(message,reader,ctx,wireType)=>{let items2=message[localName];if(wireType==
WireType.LengthDelimited&&packedPossible){let end=reader.uint32()+reader.pos;for(;reader.pos<end;)items2.push(readScalar(
reader))}else items2.push(readScalar(reader))}}function compileMapFieldReader(field){let localName=field.localName,readKey=compileScalarReader(
field.mapKey,field.utf8Validation,!1),keyZero=scalarZeroValue(field.mapKey,!1),readValue,valueDefault;switch(field.mapKind){case"\
scalar":{let scalar=field.scalar,readScalar=compileScalarReader(scalar,field.utf8Validation,!1);if(readValue=reader=>readScalar(
reader),scalar==ScalarType.BYTES)valueDefault=()=>new Uint8Array(0);else{let zero=scalarZeroValue(scalar,!1);valueDefault=
()=>zero}break}case"enum":{let zero=field.enum.values[0].number;readValue=reader=>reader.int32(),valueDefault=()=>zero;break}case"\
message":{let{toMessage,toLocal}=localMessageMapper(field),readChild=compiledReader(field.message).read;readValue=(reader,ctx,existing)=>{
let child=toMessage(existing);return readChild(child,reader,ctx,reader.uint32()),toLocal(child)},valueDefault=()=>toLocal(
toMessage(void 0));break}}return(message,reader,ctx)=>{let record=message[localName],key,val,len=reader.uint32(),end=reader.
pos+len;for(;reader.pos<end;){let[fieldNo,wireType]=reader.tag();switch(fieldNo){case 1:key=readKey(reader);break;case 2:
val=readValue(reader,ctx,val);break;default:reader.skip(wireType,fieldNo,ctx.recursionLimit-ctx.depth)}}key===void 0&&(key=
keyZero),val===void 0&&(val=valueDefault()),setOwn(record,key,val)}}function compileScalarReader(type,utf8Validation,longAsString){
switch(type){case ScalarType.STRING:return reader=>reader.string(utf8Validation);case ScalarType.BOOL:return reader=>reader.
bool();case ScalarType.DOUBLE:return reader=>reader.double();case ScalarType.FLOAT:return reader=>reader.float();case ScalarType.
INT32:return reader=>reader.int32();case ScalarType.INT64:return longAsString?reader=>String(reader.int64()):reader=>reader.
int64();case ScalarType.UINT64:return longAsString?reader=>String(reader.uint64()):reader=>reader.uint64();case ScalarType.
FIXED64:return longAsString?reader=>String(reader.fixed64()):reader=>reader.fixed64();case ScalarType.BYTES:return reader=>reader.
bytes();case ScalarType.FIXED32:return reader=>reader.fixed32();case ScalarType.SFIXED32:return reader=>reader.sfixed32();case ScalarType.
SFIXED64:return longAsString?reader=>String(reader.sfixed64()):reader=>reader.sfixed64();case ScalarType.SINT64:return longAsString?
reader=>String(reader.sint64()):reader=>reader.sint64();case ScalarType.UINT32:return reader=>reader.uint32();case ScalarType.
SINT32:return reader=>reader.sint32()}}function fileDesc(b64,imports){var _a;let root=fromBinary(FileDescriptorProtoSchema,base64Decode(b64));return root.messageType.
forEach(restoreJsonNames),root.dependency=(_a=imports?.map(f=>f.proto.name))!==null&&_a!==void 0?_a:[],createEmbeddedFileRegistry(
root,protoFileName=>imports?.find(f=>f.proto.name===protoFileName)).getFile(root.name)}function serviceDesc(file,path,...paths){if(paths.length>0)throw new Error;return file.services[path]}var file_google_protobuf_any=fileDesc("Chlnb29nbGUvcHJvdG9idWYvYW55LnByb3RvEg9nb29nbGUucHJvdG9idWYiJgoDQW55EhAKCHR5cGVfd\
XJsGAEgASgJEg0KBXZhbHVlGAIgASgMQnYKE2NvbS5nb29nbGUucHJvdG9idWZCCEFueVByb3RvUAFaLGdvb2dsZS5nb2xhbmcub3JnL3Byb3RvYnVmL3R5c\
GVzL2tub3duL2FueXBiogIDR1BCqgIeR29vZ2xlLlByb3RvYnVmLldlbGxLbm93blR5cGVzYgZwcm90bzM"),AnySchema=messageDesc(file_google_protobuf_any,
0);function anyPack(schema,message,into){let ret=!1;return into||(into=create(AnySchema),ret=!0),into.value=toBinary(schema,
message),into.typeUrl=typeNameToUrl(message.$typeName),ret?into:void 0}function anyIs(any,descOrTypeName){if(any.typeUrl===
"")return!1;let want=typeof descOrTypeName=="string"?descOrTypeName:descOrTypeName.typeName,got=typeUrlToName(any.typeUrl);
return want===got}function anyUnpack(any,registryOrMessageDesc){if(any.typeUrl==="")return;let desc=registryOrMessageDesc.
kind=="message"?registryOrMessageDesc:registryOrMessageDesc.getMessage(typeUrlToName(any.typeUrl));if(!(!desc||!anyIs(any,
desc)))return fromBinary(desc,any.value)}function typeNameToUrl(name){return`type.googleapis.com/${name}`}function typeUrlToName(url){let slash=url.lastIndexOf("\
/"),name=slash>=0?url.substring(slash+1):url;if(!name.length)throw new Error(`invalid type url: ${url}`);return name}var file_google_protobuf_struct=fileDesc("Chxnb29nbGUvcHJvdG9idWYvc3RydWN0LnByb3RvEg9nb29nbGUucHJvdG9idWYihAEKBlN0cnVjdB\
IzCgZmaWVsZHMYASADKAsyIy5nb29nbGUucHJvdG9idWYuU3RydWN0LkZpZWxkc0VudHJ5GkUKC0ZpZWxkc0VudHJ5EgsKA2tleRgBIAEoCRIlCgV2YWx1ZR\
gCIAEoCzIWLmdvb2dsZS5wcm90b2J1Zi5WYWx1ZToCOAEi6gEKBVZhbHVlEjAKCm51bGxfdmFsdWUYASABKA4yGi5nb29nbGUucHJvdG9idWYuTnVsbFZhbH\
VlSAASFgoMbnVtYmVyX3ZhbHVlGAIgASgBSAASFgoMc3RyaW5nX3ZhbHVlGAMgASgJSAASFAoKYm9vbF92YWx1ZRgEIAEoCEgAEi8KDHN0cnVjdF92YWx1ZR\
gFIAEoCzIXLmdvb2dsZS5wcm90b2J1Zi5TdHJ1Y3RIABIwCgpsaXN0X3ZhbHVlGAYgASgLMhouZ29vZ2xlLnByb3RvYnVmLkxpc3RWYWx1ZUgAQgYKBGtpbm\
QiMwoJTGlzdFZhbHVlEiYKBnZhbHVlcxgBIAMoCzIWLmdvb2dsZS5wcm90b2J1Zi5WYWx1ZSobCglOdWxsVmFsdWUSDgoKTlVMTF9WQUxVRRAAQn8KE2NvbS\
5nb29nbGUucHJvdG9idWZCC1N0cnVjdFByb3RvUAFaL2dvb2dsZS5nb2xhbmcub3JnL3Byb3RvYnVmL3R5cGVzL2tub3duL3N0cnVjdHBi+AEBogIDR1BCqg\
IeR29vZ2xlLlByb3RvYnVmLldlbGxLbm93blR5cGVzYgZwcm90bzM"),StructSchema=messageDesc(file_google_protobuf_struct,0),ValueSchema=messageDesc(
file_google_protobuf_struct,1),ListValueSchema=messageDesc(file_google_protobuf_struct,2),NullValue;(function(NullValue2){
NullValue2[NullValue2.NULL_VALUE=0]="NULL_VALUE"})(NullValue||(NullValue={}));var file_svc_options_v1_policy=fileDesc("ChtzdmMvb3B0aW9ucy92MS9wb2xpY3kucHJvdG8SDnN2Yy5vcHRpb25zLnYxIoEDCgZQb2xpY3kSLQo\
GYWNjZXNzGAEgASgOMh0uc3ZjLm9wdGlvbnMudjEuUG9saWN5LkFjY2VzcxIQCghtdXRhdGlvbhgCIAEoCBIpCgRyb2xlGAMgASgOMhsuc3ZjLm9wdGlvbnM\
udjEuUG9saWN5LlJvbGUSDgoGc3RyaWN0GAQgASgIEhYKDnJlY2VudF9zaWduX2luGAUgASgIImIKBkFjY2VzcxIWChJBQ0NFU1NfVU5TUEVDSUZJRUQQABI\
ICgRSRUFEEAESCQoFV1JJVEUQAhINCglDT0xMRUNUT1IQAxIHCgNBTlkQBBIICgROT05FEAUSCQoFSFVNQU4QBiJ/CgRSb2xlEhQKEFJPTEVfVU5TUEVDSUZ\
JRUQQABIKCgZWSUVXRVIQARIKCgZFRElUT1IQAhIJCgVPV05FUhADEggKBFNFTEYQBBIRCg1PV05FUl9PUl9TRUxGEAUSDQoJU0lHTkVEX0lOEAYSEgoOT1d\
ORVJfQU5EX1NFTEYQBzpQCgZwb2xpY3kSHi5nb29nbGUucHJvdG9idWYuTWV0aG9kT3B0aW9ucxjRhgMgASgLMhYuc3ZjLm9wdGlvbnMudjEuUG9saWN5UgZ\
wb2xpY3liBnByb3RvMw",[file_google_protobuf_descriptor]);var policy=extDesc(file_svc_options_v1_policy,0);var file_svc_iam_v1_automation=fileDesc("ChtzdmMvaWFtL3YxL2F1dG9tYXRpb24ucHJvdG8SCnN2Yy5pYW0udjEiPwoWRXhjaGFuZ2VDaVRva2V\
uUmVxdWVzdBISCgp0cnVzdF9uYW1lGAEgASgJEhEKCWFzc2VydGlvbhgCIAEoCSJhChdFeGNoYW5nZUNpVG9rZW5SZXNwb25zZRIUCgxhY2Nlc3NfdG9rZW4\
YASABKAkSFAoMcHJvamVjdF9uYW1lGAIgASgJEhoKEmV4cGlyZXNfaW5fc2Vjb25kcxgDIAEoBSI2Ch5MaXN0UGVybWlzc2lvblRlbXBsYXRlc1JlcXVlc3Q\
SFAoMcHJvamVjdF9uYW1lGAEgASgJIlQKH0xpc3RQZXJtaXNzaW9uVGVtcGxhdGVzUmVzcG9uc2USMQoJdGVtcGxhdGVzGAEgAygLMh4uc3ZjLmlhbS52MS5\
QZXJtaXNzaW9uVGVtcGxhdGUiZwoSUGVybWlzc2lvblRlbXBsYXRlEhAKCHRlbXBsYXRlGAEgASgJEhQKDGRpc3BsYXlfbmFtZRgCIAEoCRITCgtkZXNjcml\
wdGlvbhgDIAEoCRIUCgxjYXBhYmlsaXRpZXMYBCADKAki/wIKDlNlcnZpY2VBY2NvdW50EgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEi8\
KBXN0YXRlGAMgASgOMiAuc3ZjLmlhbS52MS5TZXJ2aWNlQWNjb3VudC5TdGF0ZRIUCgxjYXBhYmlsaXRpZXMYBCADKAkSEAoIdGVtcGxhdGUYBSABKAkSFAo\
MY3JlYXRlZF91bml4GAYgASgDEhQKDHVwZGF0ZWRfdW5peBgHIAEoAxISCgpjcmVhdGVkX2J5GAggASgJEhMKC2FjdGl2ZV9rZXlzGAkgASgFEhoKEmFjdGl\
2ZV9jb25uZWN0aW9ucxgKIAEoBRIXCg9kaXNhYmxlZF9yZWFzb24YCyABKAkSHwoXY3JlYXRlZF9ieV9kaXNwbGF5X25hbWUYDCABKAkiRQoFU3RhdGUSFQo\
RU1RBVEVfVU5TUEVDSUZJRUQQABIKCgZBQ1RJVkUQARIMCghESVNBQkxFRBACEgsKB0RFTEVURUQQAyKFAQobQ3JlYXRlU2VydmljZUFjY291bnRSZXF1ZXN\
0EhQKDHByb2plY3RfbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEhQKDGRpc3BsYXlfbmFtZRgDIAEoCRIQCgh0ZW1wbGF0ZRgEIAEoCRIUCgxjYXB\
hYmlsaXRpZXMYBSADKAkiWQoaTGlzdFNlcnZpY2VBY2NvdW50c1JlcXVlc3QSFAoMcHJvamVjdF9uYW1lGAEgASgJEhEKCXBhZ2Vfc2l6ZRgCIAEoBRISCgp\
wYWdlX3Rva2VuGAMgASgJImwKG0xpc3RTZXJ2aWNlQWNjb3VudHNSZXNwb25zZRI0ChBzZXJ2aWNlX2FjY291bnRzGAEgAygLMhouc3ZjLmlhbS52MS5TZXJ\
2aWNlQWNjb3VudBIXCg9uZXh0X3BhZ2VfdG9rZW4YAiABKAkiKAoYR2V0U2VydmljZUFjY291bnRSZXF1ZXN0EgwKBG5hbWUYASABKAkinQEKG1VwZGF0ZVN\
lcnZpY2VBY2NvdW50UmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSGQoMZGlzcGxheV9uYW1lGAMgASgJSACIAQESMAoMY2FwYWJ\
pbGl0aWVzGAQgASgLMhouc3ZjLmlhbS52MS5DYXBhYmlsaXR5TGlzdEIPCg1fZGlzcGxheV9uYW1lIiAKDkNhcGFiaWxpdHlMaXN0Eg4KBnZhbHVlcxgBIAM\
oCSJQChxEaXNhYmxlU2VydmljZUFjY291bnRSZXF1ZXN0EgwKBG5hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRIOCgZyZWFzb24YAyABKAkiPwobRW5\
hYmxlU2VydmljZUFjY291bnRSZXF1ZXN0EgwKBG5hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCSI/ChtEZWxldGVTZXJ2aWNlQWNjb3VudFJlcXVlc3Q\
SDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJIh4KHERlbGV0ZVNlcnZpY2VBY2NvdW50UmVzcG9uc2UigAYKA0tleRIMCgRuYW1lGAEgASgJEhQ\
KDGRpc3BsYXlfbmFtZRgCIAEoCRIkCgVzdGF0ZRgDIAEoDjIVLnN2Yy5pYW0udjEuS2V5LlN0YXRlEhQKDGNhcGFiaWxpdGllcxgEIAMoCRIeChZlZmZlY3R\
pdmVfY2FwYWJpbGl0aWVzGAUgAygJEg0KBWxhc3Q0GAYgASgJEhIKCmNyZWF0ZWRfYnkYByABKAkSFAoMY3JlYXRlZF91bml4GAggASgDEhQKDGV4cGlyZXN\
fdW5peBgJIAEoAxI1Cg5leHBpcnlfd2FybmluZxgKIAEoDjIdLnN2Yy5pYW0udjEuS2V5LkV4cGlyeVdhcm5pbmcSGwoObGFzdF91c2VkX3VuaXgYCyABKAN\
IAIgBARIRCglzdWNjZXNzb3IYDCABKAkSHgoRb3ZlcmxhcF9lbmRzX3VuaXgYDSABKANIAYgBARIWCg5yZXZva2VkX3JlYXNvbhgOIAEoCRIfChdjcmVhdGV\
kX2J5X2Rpc3BsYXlfbmFtZRgPIAEoCRIQCghuZXR3b3JrcxgQIAMoCRIUCgxyZWZ1c2VkX3VzZXMYESABKAMSHgoRbGFzdF9yZWZ1c2VkX3VuaXgYEiABKAN\
IAogBARIbChNsYXN0X3JlZnVzZWRfcmVhc29uGBMgASgJIlIKBVN0YXRlEhUKEVNUQVRFX1VOU1BFQ0lGSUVEEAASCgoGQUNUSVZFEAESDAoIUk9UQVRJTkc\
QAhILCgdSRVZPS0VEEAMSCwoHRVhQSVJFRBAEInIKDUV4cGlyeVdhcm5pbmcSHgoaRVhQSVJZX1dBUk5JTkdfVU5TUEVDSUZJRUQQABIICgROT05FEAESEgo\
OV0lUSElOXzE0X0RBWVMQAhIRCg1XSVRISU5fN19EQVlTEAMSEAoMV0lUSElOXzFfREFZEARCEQoPX2xhc3RfdXNlZF91bml4QhQKEl9vdmVybGFwX2VuZHN\
fdW5peEIUChJfbGFzdF9yZWZ1c2VkX3VuaXgijgEKEENyZWF0ZUtleVJlcXVlc3QSDgoGcGFyZW50GAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSFAoMZGl\
zcGxheV9uYW1lGAMgASgJEhQKDGNhcGFiaWxpdGllcxgEIAMoCRIYChBsaWZldGltZV9zZWNvbmRzGAUgASgFEhAKCG5ldHdvcmtzGAYgAygJIlsKEUNyZWF\
0ZUtleVJlc3BvbnNlEhwKA2tleRgBIAEoCzIPLnN2Yy5pYW0udjEuS2V5Eg4KBnNlY3JldBgCIAEoCRIYChBzZWNyZXRfYXZhaWxhYmxlGAMgASgIImcKEFJ\
vdGF0ZUtleVJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEhcKD292ZXJsYXBfc2Vjb25kcxgDIAEoBRIYChBsaWZldGltZV9zZWN\
vbmRzGAQgASgFIlsKEVJvdGF0ZUtleVJlc3BvbnNlEhwKA2tleRgBIAEoCzIPLnN2Yy5pYW0udjEuS2V5Eg4KBnNlY3JldBgCIAEoCRIYChBzZWNyZXRfYXZ\
haWxhYmxlGAMgASgIIkQKEFJldm9rZUtleVJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEg4KBnJlYXNvbhgDIAEoCSJfCg9MaXN\
0S2V5c1JlcXVlc3QSDgoGcGFyZW50GAEgASgJEhEKCXBhZ2Vfc2l6ZRgCIAEoBRISCgpwYWdlX3Rva2VuGAMgASgJEhUKDWluY2x1ZGVfZW5kZWQYBCABKAg\
iSgoQTGlzdEtleXNSZXNwb25zZRIdCgRrZXlzGAEgAygLMg8uc3ZjLmlhbS52MS5LZXkSFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJIh0KDUdldEtleVJlcXV\
lc3QSDAoEbmFtZRgBIAEoCSK5BgoKQ3JlZGVudGlhbBIMCgRuYW1lGAEgASgJEikKBGtpbmQYAiABKA4yGy5zdmMuaWFtLnYxLkNyZWRlbnRpYWwuS2luZBI\
UCgxkaXNwbGF5X25hbWUYAyABKAkSKwoFc3RhdGUYBCABKA4yHC5zdmMuaWFtLnYxLkNyZWRlbnRpYWwuU3RhdGUSEgoKb3duZXJfbmFtZRgFIAEoCRIaChJ\
vd25lcl9kaXNwbGF5X25hbWUYBiABKAkSHAoUb3duZXJfdW5wcm92ZW5fZW1haWwYByABKAkSDQoFbGFzdDQYCCABKAkSFAoMY2FwYWJpbGl0aWVzGAkgAyg\
JEh4KFmVmZmVjdGl2ZV9jYXBhYmlsaXRpZXMYCiADKAkSFAoMY3JlYXRlZF91bml4GAsgASgDEhIKCmNyZWF0ZWRfYnkYDCABKAkSFgoJZW5kc191bml4GA0\
gASgDSACIAQESGwoObGFzdF91c2VkX3VuaXgYDiABKANIAYgBARIWCg5yZXZva2VkX3JlYXNvbhgPIAEoCRIfChdjcmVhdGVkX2J5X2Rpc3BsYXlfbmFtZRg\
QIAEoCRIQCghuZXR3b3JrcxgRIAMoCRIUCgxyZWZ1c2VkX3VzZXMYEiABKAMSHgoRbGFzdF9yZWZ1c2VkX3VuaXgYEyABKANIAogBARIbChNsYXN0X3JlZnV\
zZWRfcmVhc29uGBQgASgJInkKBEtpbmQSFAoQS0lORF9VTlNQRUNJRklFRBAAEhAKDFBFUlNPTkFMX0tFWRABEhcKE1NFUlZJQ0VfQUNDT1VOVF9LRVkQAhI\
RCg1DT0xMRUNUT1JfS0VZEAMSCgoGVk1fS0VZEAQSEQoNQ0lfQ09OTkVDVElPThAFIm0KBVN0YXRlEhUKEVNUQVRFX1VOU1BFQ0lGSUVEEAASCgoGQUNUSVZ\
FEAESDAoIUk9UQVRJTkcQAhIMCghESVNBQkxFRBADEgsKB1JFVk9LRUQQBBILCgdFWFBJUkVEEAUSCwoHREVMRVRFRBAGQgwKCl9lbmRzX3VuaXhCEQoPX2x\
hc3RfdXNlZF91bml4QhQKEl9sYXN0X3JlZnVzZWRfdW5peCKYAQoWTGlzdENyZWRlbnRpYWxzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEQoJcGF\
nZV9zaXplGAIgASgFEhIKCnBhZ2VfdG9rZW4YAyABKAkSKgoFa2luZHMYBCADKA4yGy5zdmMuaWFtLnYxLkNyZWRlbnRpYWwuS2luZBIVCg1pbmNsdWRlX2V\
uZGVkGAUgASgIIl8KF0xpc3RDcmVkZW50aWFsc1Jlc3BvbnNlEisKC2NyZWRlbnRpYWxzGAEgAygLMhYuc3ZjLmlhbS52MS5DcmVkZW50aWFsEhcKD25leHR\
fcGFnZV90b2tlbhgCIAEoCSJSCgdDaUNsYWltEg0KBWNsYWltGAEgASgJEhIKBXZhbHVlGAIgASgJSACIAQESDQoFYm91bmQYAyABKAgSCwoDd2h5GAQgASg\
JQggKBl92YWx1ZSKKAQoaU3RhcnRDaVZlcmlmaWNhdGlvblJlcXVlc3QSHAoUc2VydmljZV9hY2NvdW50X25hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAE\
oCRIUCgxkaXNwbGF5X25hbWUYAyABKAkSFAoMY2FwYWJpbGl0aWVzGAQgAygJEg4KBmlzc3VlchgFIAEoCSLQAQobU3RhcnRDaVZlcmlmaWNhdGlvblJlc3B\
vbnNlEjAKDHZlcmlmaWNhdGlvbhgBIAEoCzIaLnN2Yy5pYW0udjEuQ2lWZXJpZmljYXRpb24SEAoIc2V0dXBfaWQYAiABKAkSFAoMcGFpcmluZ19jb2RlGAM\
gASgJEhgKEHNlY3JldF9hdmFpbGFibGUYBCABKAgSEAoIYXVkaWVuY2UYBSABKAkSFAoMZXhwaXJlc191bml4GAYgASgDEhUKDXdvcmtmbG93X3N0ZXAYByA\
BKAkiWAobU3VibWl0Q2lWZXJpZmljYXRpb25SZXF1ZXN0EhAKCHNldHVwX2lkGAEgASgJEhQKDHBhaXJpbmdfY29kZRgCIAEoCRIRCglhc3NlcnRpb24YAyA\
BKAkiWgocU3VibWl0Q2lWZXJpZmljYXRpb25SZXNwb25zZRIjCgZjbGFpbXMYASADKAsyEy5zdmMuaWFtLnYxLkNpQ2xhaW0SFQoNY2xhaW1zX2RpZ2VzdBg\
CIAEoCSJECg5DaVJlZnVzZWRQcm9vZhIMCgRjb2RlGAEgASgJEhQKDHJlZnVzZWRfdW5peBgCIAEoAxIOCgZjbGFpbXMYAyADKAki1wUKDkNpVmVyaWZpY2F\
0aW9uEgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEi8KBXN0YXRlGAMgASgOMiAuc3ZjLmlhbS52MS5DaVZlcmlmaWNhdGlvbi5TdGF0ZRI\
cChRzZXJ2aWNlX2FjY291bnRfbmFtZRgEIAEoCRIUCgxjYXBhYmlsaXRpZXMYBSADKAkSDgoGaXNzdWVyGAYgASgJEhAKCGF1ZGllbmNlGAcgASgJEhQKDGN\
yZWF0ZWRfdW5peBgIIAEoAxIUCgxleHBpcmVzX3VuaXgYCSABKAMSEgoKY3JlYXRlZF9ieRgKIAEoCRIaCg1vYnNlcnZlZF91bml4GAsgASgDSACIAQESIwo\
GY2xhaW1zGAwgAygLMhMuc3ZjLmlhbS52MS5DaUNsYWltEhUKDWNsYWltc19kaWdlc3QYDSABKAkSEAoId2FybmluZ3MYDiADKAkSFwoPY29ubmVjdGlvbl9\
uYW1lGA8gASgJEjAKDGxhc3RfcmVmdXNhbBgRIAEoCzIaLnN2Yy5pYW0udjEuQ2lSZWZ1c2VkUHJvb2YSEgoKaXNzdWVyX3VybBgSIAEoCRITCgt3cm9uZ19\
jb2RlcxgTIAEoBRIVCg13b3JrZmxvd19zdGVwGBQgASgJEh8KF2NyZWF0ZWRfYnlfZGlzcGxheV9uYW1lGBUgASgJEiQKHHNlcnZpY2VfYWNjb3VudF9kaXN\
wbGF5X25hbWUYFiABKAkidwoFU3RhdGUSFQoRU1RBVEVfVU5TUEVDSUZJRUQQABISCg5BV0FJVElOR19QUk9PRhABEgwKCE9CU0VSVkVEEAISDAoIQVBQUk9\
WRUQQAxIMCghSRUpFQ1RFRBAEEgsKB0VYUElSRUQQBSIECAYQBioGQ0xPU0VEQhAKDl9vYnNlcnZlZF91bml4SgQIEBARUg1hdHRlbXB0c19sZWZ0IigKGEd\
ldENpVmVyaWZpY2F0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJIlkKGkxpc3RDaVZlcmlmaWNhdGlvbnNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCRI\
RCglwYWdlX3NpemUYAiABKAUSEgoKcGFnZV90b2tlbhgDIAEoCSJpChtMaXN0Q2lWZXJpZmljYXRpb25zUmVzcG9uc2USMQoNdmVyaWZpY2F0aW9ucxgBIAM\
oCzIaLnN2Yy5pYW0udjEuQ2lWZXJpZmljYXRpb24SFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJIoMBChxBcHByb3ZlQ2lWZXJpZmljYXRpb25SZXF1ZXN0Egw\
KBG5hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRIUCgxkaXNwbGF5X25hbWUYAyABKAkSFAoMY2FwYWJpbGl0aWVzGAQgAygJEhUKDWNsYWltc19kaWd\
lc3QYBSABKAkiTwobUmVqZWN0Q2lWZXJpZmljYXRpb25SZXF1ZXN0EgwKBG5hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRIOCgZyZWFzb24YAyABKAk\
izgUKDENpQ29ubmVjdGlvbhIMCgRuYW1lGAEgASgJEhQKDGRpc3BsYXlfbmFtZRgCIAEoCRItCgVzdGF0ZRgDIAEoDjIeLnN2Yy5pYW0udjEuQ2lDb25uZWN\
0aW9uLlN0YXRlEhwKFHNlcnZpY2VfYWNjb3VudF9uYW1lGAQgASgJEhQKDGNhcGFiaWxpdGllcxgFIAMoCRIeChZlZmZlY3RpdmVfY2FwYWJpbGl0aWVzGAY\
gAygJEg4KBmlzc3VlchgHIAEoCRIQCghhdWRpZW5jZRgIIAEoCRIjCgZjbGFpbXMYCSADKAsyEy5zdmMuaWFtLnYxLkNpQ2xhaW0SFAoMY3JlYXRlZF91bml\
4GAogASgDEhQKDHVwZGF0ZWRfdW5peBgLIAEoAxISCgpjcmVhdGVkX2J5GAwgASgJEhMKC3Rva2VuX2Vwb2NoGA0gASgDEh8KEmxhc3RfZXhjaGFuZ2VfdW5\
peBgOIAEoA0gAiAEBEhkKEXZlcmlmaWNhdGlvbl9uYW1lGA8gASgJEhIKCmlzc3Vlcl91cmwYECABKAkSNgoPcmVjZW50X3JlZnVzYWxzGBEgAygLMh0uc3Z\
jLmlhbS52MS5DaVJlZnVzZWRFeGNoYW5nZRIeChFsYXN0X3JlZnVzYWxfdW5peBgSIAEoA0gBiAEBEhcKD2Rpc2FibGVkX3JlYXNvbhgTIAEoCRIfChdjcmV\
hdGVkX2J5X2Rpc3BsYXlfbmFtZRgUIAEoCRIkChxzZXJ2aWNlX2FjY291bnRfZGlzcGxheV9uYW1lGBUgASgJIkYKBVN0YXRlEhUKEVNUQVRFX1VOU1BFQ0l\
GSUVEEAASCwoHRU5BQkxFRBABEgwKCERJU0FCTEVEEAISCwoHREVMRVRFRBADQhUKE19sYXN0X2V4Y2hhbmdlX3VuaXhCFAoSX2xhc3RfcmVmdXNhbF91bml\
4IoUDChFDaVJlZnVzZWRFeGNoYW5nZRIUCgxyZWZ1c2VkX3VuaXgYASABKAMSFgoOY29ycmVsYXRpb25faWQYAiABKAkSMwoGY2F1c2VzGAMgAygLMiMuc3Z\
jLmlhbS52MS5DaVJlZnVzZWRFeGNoYW5nZS5DYXVzZRIzCgZjbGFpbXMYBCADKAsyIy5zdmMuaWFtLnYxLkNpUmVmdXNlZEV4Y2hhbmdlLkNsYWltEgwKBHJ\
1bnMYBSADKAkaJwoFQ2F1c2USDAoEY29kZRgBIAEoCRIQCghyZWZ1c2FscxgCIAEoBRqgAQoFQ2xhaW0SDQoFY2xhaW0YASABKAkSQgoKZGlmZmVyZW5jZRg\
CIAEoDjIuLnN2Yy5pYW0udjEuQ2lSZWZ1c2VkRXhjaGFuZ2UuQ2xhaW0uRGlmZmVyZW5jZSJECgpEaWZmZXJlbmNlEhoKFkRJRkZFUkVOQ0VfVU5TUEVDSUZ\
JRUQQABINCglESUZGRVJFTlQQARILCgdNSVNTSU5HEAIiVwoYTGlzdENpQ29ubmVjdGlvbnNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCRIRCglwYWd\
lX3NpemUYAiABKAUSEgoKcGFnZV90b2tlbhgDIAEoCSJjChlMaXN0Q2lDb25uZWN0aW9uc1Jlc3BvbnNlEi0KC2Nvbm5lY3Rpb25zGAEgAygLMhguc3ZjLml\
hbS52MS5DaUNvbm5lY3Rpb24SFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJIiYKFkdldENpQ29ubmVjdGlvblJlcXVlc3QSDAoEbmFtZRgBIAEoCSKbAQoZVXB\
kYXRlQ2lDb25uZWN0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSGQoMZGlzcGxheV9uYW1lGAMgASgJSACIAQESMAoMY2F\
wYWJpbGl0aWVzGAQgASgLMhouc3ZjLmlhbS52MS5DYXBhYmlsaXR5TGlzdEIPCg1fZGlzcGxheV9uYW1lIk4KGkRpc2FibGVDaUNvbm5lY3Rpb25SZXF1ZXN\
0EgwKBG5hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRIOCgZyZWFzb24YAyABKAkiPQoZRW5hYmxlQ2lDb25uZWN0aW9uUmVxdWVzdBIMCgRuYW1lGAE\
gASgJEhIKCnJlcXVlc3RfaWQYAiABKAkiPQoZRGVsZXRlQ2lDb25uZWN0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkiHAo\
aRGVsZXRlQ2lDb25uZWN0aW9uUmVzcG9uc2UiPAoRRW5yb2xBZ2VudFJlcXVlc3QSFwoPZW5yb2xtZW50X3Rva2VuGAEgASgJEg4KBnN5c3RlbRgCIAEoCSJ\
eChJFbnJvbEFnZW50UmVzcG9uc2USFAoMcHJvamVjdF9uYW1lGAEgASgJEg8KB3ZtX25hbWUYAiABKAkSCwoDa2V5GAMgASgJEhQKDGV4cGlyZXNfdW5peBg\
EIAEoAzKoFgoRQXV0b21hdGlvblNlcnZpY2USZAoPRXhjaGFuZ2VDaVRva2VuEiIuc3ZjLmlhbS52MS5FeGNoYW5nZUNpVG9rZW5SZXF1ZXN0GiMuc3ZjLml\
hbS52MS5FeGNoYW5nZUNpVG9rZW5SZXNwb25zZSIIirUYBAgFEAESegoXTGlzdFBlcm1pc3Npb25UZW1wbGF0ZXMSKi5zdmMuaWFtLnYxLkxpc3RQZXJtaXN\
zaW9uVGVtcGxhdGVzUmVxdWVzdBorLnN2Yy5pYW0udjEuTGlzdFBlcm1pc3Npb25UZW1wbGF0ZXNSZXNwb25zZSIGirUYAggEEmcKFENyZWF0ZVNlcnZpY2V\
BY2NvdW50Eicuc3ZjLmlhbS52MS5DcmVhdGVTZXJ2aWNlQWNjb3VudFJlcXVlc3QaGi5zdmMuaWFtLnYxLlNlcnZpY2VBY2NvdW50IgqKtRgGCAYQARgDEnI\
KE0xpc3RTZXJ2aWNlQWNjb3VudHMSJi5zdmMuaWFtLnYxLkxpc3RTZXJ2aWNlQWNjb3VudHNSZXF1ZXN0Gicuc3ZjLmlhbS52MS5MaXN0U2VydmljZUFjY29\
1bnRzUmVzcG9uc2UiCoq1GAYIBhgDIAESXwoRR2V0U2VydmljZUFjY291bnQSJC5zdmMuaWFtLnYxLkdldFNlcnZpY2VBY2NvdW50UmVxdWVzdBoaLnN2Yy5\
pYW0udjEuU2VydmljZUFjY291bnQiCIq1GAQIBhgDEmcKFFVwZGF0ZVNlcnZpY2VBY2NvdW50Eicuc3ZjLmlhbS52MS5VcGRhdGVTZXJ2aWNlQWNjb3VudFJ\
lcXVlc3QaGi5zdmMuaWFtLnYxLlNlcnZpY2VBY2NvdW50IgqKtRgGCAYQARgDEmkKFURpc2FibGVTZXJ2aWNlQWNjb3VudBIoLnN2Yy5pYW0udjEuRGlzYWJ\
sZVNlcnZpY2VBY2NvdW50UmVxdWVzdBoaLnN2Yy5pYW0udjEuU2VydmljZUFjY291bnQiCoq1GAYIBhABGAMSZwoURW5hYmxlU2VydmljZUFjY291bnQSJy5\
zdmMuaWFtLnYxLkVuYWJsZVNlcnZpY2VBY2NvdW50UmVxdWVzdBoaLnN2Yy5pYW0udjEuU2VydmljZUFjY291bnQiCoq1GAYIBhABGAMSdQoURGVsZXRlU2V\
ydmljZUFjY291bnQSJy5zdmMuaWFtLnYxLkRlbGV0ZVNlcnZpY2VBY2NvdW50UmVxdWVzdBooLnN2Yy5pYW0udjEuRGVsZXRlU2VydmljZUFjY291bnRSZXN\
wb25zZSIKirUYBggGEAEYAxJWCglDcmVhdGVLZXkSHC5zdmMuaWFtLnYxLkNyZWF0ZUtleVJlcXVlc3QaHS5zdmMuaWFtLnYxLkNyZWF0ZUtleVJlc3BvbnN\
lIgyKtRgICAYQARgFKAESVgoJUm90YXRlS2V5Ehwuc3ZjLmlhbS52MS5Sb3RhdGVLZXlSZXF1ZXN0Gh0uc3ZjLmlhbS52MS5Sb3RhdGVLZXlSZXNwb25zZSI\
MirUYCAgGEAEYBSgBEkYKCVJldm9rZUtleRIcLnN2Yy5pYW0udjEuUmV2b2tlS2V5UmVxdWVzdBoPLnN2Yy5pYW0udjEuS2V5IgqKtRgGCAYQARgHElEKCEx\
pc3RLZXlzEhsuc3ZjLmlhbS52MS5MaXN0S2V5c1JlcXVlc3QaHC5zdmMuaWFtLnYxLkxpc3RLZXlzUmVzcG9uc2UiCoq1GAYIBhgHIAESPgoGR2V0S2V5Ehk\
uc3ZjLmlhbS52MS5HZXRLZXlSZXF1ZXN0Gg8uc3ZjLmlhbS52MS5LZXkiCIq1GAQIBhgHEmYKD0xpc3RDcmVkZW50aWFscxIiLnN2Yy5pYW0udjEuTGlzdEN\
yZWRlbnRpYWxzUmVxdWVzdBojLnN2Yy5pYW0udjEuTGlzdENyZWRlbnRpYWxzUmVzcG9uc2UiCoq1GAYIBhgDIAEScgoTU3RhcnRDaVZlcmlmaWNhdGlvbhI\
mLnN2Yy5pYW0udjEuU3RhcnRDaVZlcmlmaWNhdGlvblJlcXVlc3QaJy5zdmMuaWFtLnYxLlN0YXJ0Q2lWZXJpZmljYXRpb25SZXNwb25zZSIKirUYBggGEAE\
YAxJzChRTdWJtaXRDaVZlcmlmaWNhdGlvbhInLnN2Yy5pYW0udjEuU3VibWl0Q2lWZXJpZmljYXRpb25SZXF1ZXN0Giguc3ZjLmlhbS52MS5TdWJtaXRDaVZ\
lcmlmaWNhdGlvblJlc3BvbnNlIgiKtRgECAUQARJfChFHZXRDaVZlcmlmaWNhdGlvbhIkLnN2Yy5pYW0udjEuR2V0Q2lWZXJpZmljYXRpb25SZXF1ZXN0Gho\
uc3ZjLmlhbS52MS5DaVZlcmlmaWNhdGlvbiIIirUYBAgGGAMScgoTTGlzdENpVmVyaWZpY2F0aW9ucxImLnN2Yy5pYW0udjEuTGlzdENpVmVyaWZpY2F0aW9\
uc1JlcXVlc3QaJy5zdmMuaWFtLnYxLkxpc3RDaVZlcmlmaWNhdGlvbnNSZXNwb25zZSIKirUYBggGGAMgARJpChVBcHByb3ZlQ2lWZXJpZmljYXRpb24SKC5\
zdmMuaWFtLnYxLkFwcHJvdmVDaVZlcmlmaWNhdGlvblJlcXVlc3QaGC5zdmMuaWFtLnYxLkNpQ29ubmVjdGlvbiIMirUYCAgGEAEYAygBEmcKFFJlamVjdEN\
pVmVyaWZpY2F0aW9uEicuc3ZjLmlhbS52MS5SZWplY3RDaVZlcmlmaWNhdGlvblJlcXVlc3QaGi5zdmMuaWFtLnYxLkNpVmVyaWZpY2F0aW9uIgqKtRgGCAY\
QARgDEmwKEUxpc3RDaUNvbm5lY3Rpb25zEiQuc3ZjLmlhbS52MS5MaXN0Q2lDb25uZWN0aW9uc1JlcXVlc3QaJS5zdmMuaWFtLnYxLkxpc3RDaUNvbm5lY3R\
pb25zUmVzcG9uc2UiCoq1GAYIBhgDIAESWQoPR2V0Q2lDb25uZWN0aW9uEiIuc3ZjLmlhbS52MS5HZXRDaUNvbm5lY3Rpb25SZXF1ZXN0Ghguc3ZjLmlhbS5\
2MS5DaUNvbm5lY3Rpb24iCIq1GAQIBhgDEmEKElVwZGF0ZUNpQ29ubmVjdGlvbhIlLnN2Yy5pYW0udjEuVXBkYXRlQ2lDb25uZWN0aW9uUmVxdWVzdBoYLnN\
2Yy5pYW0udjEuQ2lDb25uZWN0aW9uIgqKtRgGCAYQARgDEmMKE0Rpc2FibGVDaUNvbm5lY3Rpb24SJi5zdmMuaWFtLnYxLkRpc2FibGVDaUNvbm5lY3Rpb25\
SZXF1ZXN0Ghguc3ZjLmlhbS52MS5DaUNvbm5lY3Rpb24iCoq1GAYIBhABGAMSYQoSRW5hYmxlQ2lDb25uZWN0aW9uEiUuc3ZjLmlhbS52MS5FbmFibGVDaUN\
vbm5lY3Rpb25SZXF1ZXN0Ghguc3ZjLmlhbS52MS5DaUNvbm5lY3Rpb24iCoq1GAYIBhABGAMSbwoSRGVsZXRlQ2lDb25uZWN0aW9uEiUuc3ZjLmlhbS52MS5\
EZWxldGVDaUNvbm5lY3Rpb25SZXF1ZXN0GiYuc3ZjLmlhbS52MS5EZWxldGVDaUNvbm5lY3Rpb25SZXNwb25zZSIKirUYBggGEAEYAxJVCgpFbnJvbEFnZW5\
0Eh0uc3ZjLmlhbS52MS5FbnJvbEFnZW50UmVxdWVzdBoeLnN2Yy5pYW0udjEuRW5yb2xBZ2VudFJlc3BvbnNlIgiKtRgECAUQAWIGcHJvdG8z",[file_svc_options_v1_policy]);var SubmitCiVerificationResponseSchema=messageDesc(file_svc_iam_v1_automation,32);var CiVerificationSchema=messageDesc(file_svc_iam_v1_automation,34),CiVerification_State={STATE_UNSPECIFIED:0,AWAITING_PROOF:1,
OBSERVED:2,APPROVED:3,REJECTED:4,EXPIRED:5};var CiConnectionSchema=messageDesc(file_svc_iam_v1_automation,40);var AutomationService=serviceDesc(file_svc_iam_v1_automation,0);function getExtension(message,extension,options){assertExtendee(extension,message);let ufs=filterUnknownFields(message.$unknown,
extension),[container,field,get]=createExtensionContainer(extension),ctx=makeReadContext(options);for(let uf of ufs)readField(
container,new BinaryReader(uf.data),field,uf.wireType,ctx);return get()}function setExtension(message,extension,value){var _a;
assertExtendee(extension,message);let ufs=((_a=message.$unknown)!==null&&_a!==void 0?_a:[]).filter(uf=>uf.no!==extension.
number),[container,field]=createExtensionContainer(extension,value),writer=new BinaryWriter;writeField(writer,{writeUnknownFields:!0},
container,field);let reader=new BinaryReader(writer.finish());for(;reader.pos<reader.len;){let[no,wireType]=reader.tag(),
data=reader.skip(wireType,no);ufs.push({no,wireType,data})}message.$unknown=ufs}function getOption(element,option){let message=element.proto.options;if(!message){let[,,get]=createExtensionContainer(option);
return get()}return getExtension(message,option)}function filterUnknownFields(unknownFields,extension){if(unknownFields===
void 0)return[];if(extension.fieldKind==="enum"||extension.fieldKind==="scalar"){for(let i=unknownFields.length-1;i>=0;--i)
if(unknownFields[i].no==extension.number)return[unknownFields[i]];return[]}return unknownFields.filter(uf=>uf.no===extension.
number)}function createExtensionContainer(extension,value){let localName=extension.typeName,field=Object.assign(Object.assign(
{},extension),{kind:"field",parent:extension.extendee,localName}),desc=Object.assign(Object.assign({},extension.extendee),
{fields:[field],members:[field],oneofs:[]}),container=create(desc,value!==void 0?{[localName]:value}:void 0);return[reflect(
desc,container),field,()=>{let value2=container[localName];if(value2===void 0){let desc2=extension.message;return isWrapperDesc(
desc2)?scalarZeroValue(desc2.fields[0].scalar,desc2.fields[0].longAsString):create(desc2)}return value2}]}function assertExtendee(extension,message){
if(extension.extendee.typeName!=message.$typeName)throw new Error(`extension ${extension.typeName} can only be applied t\
o message ${extension.extendee.typeName}`)}var timestampMsMin=Date.parse("0001-01-01T00:00:00Z"),timestampMsMax=Date.parse("9999-12-31T23:59:59Z"),durationSecondsMin=-315576e6,
durationSecondsMax=315576e6;var LEGACY_REQUIRED3=3,IMPLICIT5=2,jsonWriteDefaults={alwaysEmitImplicit:!1,enumAsInteger:!1,useProtoFieldName:!1};function makeWriteOptions2(options){
return options?Object.assign(Object.assign({},jsonWriteDefaults),options):jsonWriteDefaults}function toJson(schema,message,options){
return compiledWriter2(schema)(makeWriteOptions2(options),message)}function toJsonString(schema,message,options){var _a;
let jsonValue=toJson(schema,message,options);return JSON.stringify(jsonValue,null,(_a=options?.prettySpaces)!==null&&_a!==
void 0?_a:0)}var compiledWriters2=new WeakMap;function compiledWriter2(desc){let compiled=compiledWriters2.get(desc);return compiled===
void 0&&(compiled=compileMessage3(desc)),compiled}function compileMessage3(desc){let typeName=desc.typeName,writeWkt=compileWkt(
desc);if(writeWkt!==void 0){let foreignField2=desc.fields[0],compiledWriter4=(opts,message)=>{if(message.$typeName!==typeName&&
foreignField2!==void 0)throw new FieldError(foreignField2,`cannot use ${foreignField2} with message ${message.$typeName}`,
"ForeignFieldError");return writeWkt(opts,message)};return compiledWriters2.set(desc,compiledWriter4),compiledWriter4}let sortedFields=desc.
fields.concat().sort((a,b)=>a.number-b.number),foreignField=sortedFields[0],fieldWriters=[],compiledWriter3=(opts,message)=>{
if(message.$typeName!==typeName&&foreignField!==void 0)throw new FieldError(foreignField,`cannot use ${foreignField} wit\
h message ${message.$typeName}`,"ForeignFieldError");let json2={};for(let i=0;i<fieldWriters.length;i++)fieldWriters[i](
opts,message,json2);return opts.registry&&writeExtensions(json2,opts,opts.registry,message,desc),json2};compiledWriters2.
set(desc,compiledWriter3);for(let field of sortedFields){let writeField2=compileField2(field);fieldWriters.push(field.jsonName===
"__proto__"||field.name==="__proto__"?writeOwnKeys(writeField2):writeField2)}return compiledWriter3}function writeOwnKeys(writeField2){
return(opts,message,json2)=>{let tmp=Object.create(null);writeField2(opts,message,tmp);for(let key of Object.keys(tmp))setOwn(
json2,key,tmp[key])}}function compileWkt(desc){if(desc.typeName.startsWith("google.protobuf."))switch(desc.typeName){case"\
google.protobuf.Any":return(opts,message)=>anyToJson(message,opts);case"google.protobuf.Timestamp":return(opts,message)=>timestampToJson(
message);case"google.protobuf.Duration":return(opts,message)=>durationToJson(message);case"google.protobuf.FieldMask":return(opts,message)=>fieldMaskToJson(
message);case"google.protobuf.Struct":return(opts,message)=>structToJson(message);case"google.protobuf.Value":return(opts,message)=>valueToJson(
message);case"google.protobuf.ListValue":return(opts,message)=>listValueToJson(message);default:if(isWrapperDesc(desc)){
let valueField=desc.fields[0],localName=valueField.localName,zero=scalarZeroValue(valueField.scalar,!1),writeScalar=compileScalarValue2(
valueField);return(opts,message)=>{let value=message[localName];return writeScalar(opts,value===void 0?zero:value)}}return}}
function compileField2(field){switch(field.fieldKind){case"scalar":case"enum":case"message":return compileSingularField2(
field);case"list":case"map":{let writeValue=field.fieldKind=="list"?compileListValue(field):compileMapValue(field),protoName=field.
name,jsonKey=field.jsonName,localName=field.localName;return(opts,message,json2)=>{let value=writeValue(opts,message[localName]);
value!==void 0&&(json2[opts.useProtoFieldName?protoName:jsonKey]=value)}}}}function compileSingularField2(field){let writeValue=compileSingularValue2(
field),protoName=field.name,jsonKey=field.jsonName,localName=field.localName;if(field.oneof){let oneofLocalName=field.oneof.
localName;return(opts,message,json2)=>{let oneof=message[oneofLocalName];oneof.case===localName&&(json2[opts.useProtoFieldName?
protoName:jsonKey]=writeValue(opts,oneof.value))}}if(field.presence!=IMPLICIT5){let requiredError=field.presence==LEGACY_REQUIRED3?
`cannot encode ${field} to JSON: required field not set`:void 0;return(opts,message,json2)=>{let value=message[localName];
if(value!==void 0&&Object.prototype.hasOwnProperty.call(message,localName))json2[opts.useProtoFieldName?protoName:jsonKey]=
writeValue(opts,value);else if(requiredError!==void 0)throw new Error(requiredError)}}if(field.fieldKind=="enum"){let zero=field.
enum.values[0].number;return(opts,message,json2)=>{let value=message[localName];(value!==zero||opts.alwaysEmitImplicit)&&
(json2[opts.useProtoFieldName?protoName:jsonKey]=writeValue(opts,value))}}switch(field.scalar){case ScalarType.BOOL:return(opts,message,json2)=>{
let value=message[localName];(value!==!1||opts.alwaysEmitImplicit)&&(json2[opts.useProtoFieldName?protoName:jsonKey]=writeValue(
opts,value))};case ScalarType.STRING:return(opts,message,json2)=>{let value=message[localName];(value!==""||opts.alwaysEmitImplicit)&&
(json2[opts.useProtoFieldName?protoName:jsonKey]=writeValue(opts,value))};case ScalarType.BYTES:return(opts,message,json2)=>{
let value=message[localName];(!(value instanceof Uint8Array)||value.byteLength>0||opts.alwaysEmitImplicit)&&(json2[opts.
useProtoFieldName?protoName:jsonKey]=writeValue(opts,value))};case ScalarType.DOUBLE:case ScalarType.FLOAT:return(opts,message,json2)=>{
let value=message[localName];(!Object.is(value,0)||opts.alwaysEmitImplicit)&&(json2[opts.useProtoFieldName?protoName:jsonKey]=
writeValue(opts,value))};default:return(opts,message,json2)=>{let value=message[localName];(value!=0||opts.alwaysEmitImplicit)&&
(json2[opts.useProtoFieldName?protoName:jsonKey]=writeValue(opts,value))}}}function compileFieldValue(field){switch(field.
fieldKind){case"scalar":case"enum":case"message":return compileSingularValue2(field);case"list":return compileListValue(
field);case"map":return compileMapValue(field)}}function compileSingularValue2(field){switch(field.fieldKind){case"scala\
r":return compileScalarValue2(field);case"enum":return compileEnumValue(field);case"message":return compileMessageValue(
field)}}function compileMessageValue(field){let{toMessage}=localMessageMapper(field),writeMessage=compiledWriter2(field.
message);return(opts,value)=>writeMessage(opts,toMessage(value))}function compileListValue(field){let writeItem=compileListItemValue(
field);return(opts,value)=>{let items2=value;if(items2.length==0&&!opts.alwaysEmitImplicit)return;let jsonArray=[];for(let i=0;i<
items2.length;i++)jsonArray.push(writeItem(opts,items2[i]));return jsonArray}}function compileListItemValue(field){switch(field.
listKind){case"scalar":return compileScalarValue2(field);case"enum":return compileEnumValue(field);case"message":return compileMessageValue(
field)}}function compileMapValue(field){let writeMapValue=compileMapEntryValue(field);return(opts,value)=>{let record=value,
keys=Object.keys(record);if(keys.length==0&&!opts.alwaysEmitImplicit)return;let jsonObject={};for(let i=0;i<keys.length;i++){
let key=keys[i];setOwn(jsonObject,key,writeMapValue(opts,record[key]))}return jsonObject}}function compileMapEntryValue(field){
switch(field.mapKind){case"scalar":return compileScalarValue2(field);case"enum":return compileEnumValue(field);case"mess\
age":return compileMessageValue(field)}}function compileEnumValue(field){let desc=field.enum;return desc.typeName=="goog\
le.protobuf.NullValue"?(opts,value)=>{if(typeof value!="number")throw errorEnumValue(desc,value);return null}:(opts,value)=>{
var _a,_b;if(typeof value!="number")throw errorEnumValue(desc,value);return opts.enumAsInteger?value:(_b=(_a=desc.value[value])===
null||_a===void 0?void 0:_a.jsonName)!==null&&_b!==void 0?_b:value}}function errorEnumValue(desc,value){return new Error(
`cannot encode ${desc} to JSON: expected number, got ${formatVal(value)}`)}function compileScalarValue2(field){switch(field.
scalar){case ScalarType.INT32:case ScalarType.SFIXED32:case ScalarType.SINT32:case ScalarType.FIXED32:case ScalarType.UINT32:
return(opts,value)=>{if(typeof value!="number")throw errorScalarValue(field,value);return value};case ScalarType.FLOAT:case ScalarType.
DOUBLE:return(opts,value)=>{if(typeof value!="number")throw errorScalarValue(field,value);return Number.isNaN(value)?"Na\
N":value===Number.POSITIVE_INFINITY?"Infinity":value===Number.NEGATIVE_INFINITY?"-Infinity":value};case ScalarType.STRING:
return(opts,value)=>{if(typeof value!="string")throw errorScalarValue(field,value);return value};case ScalarType.BOOL:return(opts,value)=>{
if(typeof value!="boolean")throw errorScalarValue(field,value);return value};case ScalarType.UINT64:case ScalarType.FIXED64:case ScalarType.
INT64:case ScalarType.SFIXED64:case ScalarType.SINT64:return(opts,value)=>{if(typeof value=="bigint"||typeof value=="str\
ing"||typeof value=="number"&&Number.isInteger(value))return value.toString();throw errorScalarValue(field,value)};case ScalarType.
BYTES:return(opts,value)=>{if(value instanceof Uint8Array)return base64Encode(value);throw errorScalarValue(field,value)}}}
function errorScalarValue(field,value){var _a;return new Error(`cannot encode ${field} to JSON: ${(_a=checkField(field,value))===
null||_a===void 0?void 0:_a.message}`)}function writeExtensions(json2,opts,registry,message,desc){let unknown=message.$unknown;
if(unknown===void 0)return;let tagSeen=new Set;for(let i=0;i<unknown.length;i++){let{no}=unknown[i];if(!tagSeen.has(no)){
tagSeen.add(no);let extension=registry.getExtensionFor(desc,no);if(!extension)continue;let value=getExtension(message,extension),
[container,field]=createExtensionContainer(extension,value),local=container[unsafeLocal],jsonValue=compileFieldValue(field)(
opts,local[field.localName]);jsonValue!==void 0&&(json2[extension.jsonName]=jsonValue)}}}function anyToJson(val,opts){if(val.
typeUrl==="")return{};let{registry}=opts,message,desc;if(registry&&(message=anyUnpack(val,registry),message&&(desc=registry.
getMessage(message.$typeName))),!desc||!message)throw new Error(`cannot encode message ${val.$typeName} to JSON: "${val.
typeUrl}" is not in the type registry`);let json2=hasCustomJsonRepresentation(desc)?{value:compiledWriter2(desc)(opts,message)}:
compiledWriter2(desc)(opts,message);return json2["@type"]=val.typeUrl,json2}function durationToJson(val){let seconds=Number(
val.seconds),nanos=val.nanos;if(seconds>durationSecondsMax||seconds<durationSecondsMin)throw new Error(`cannot encode me\
ssage ${val.$typeName} to JSON: value out of range`);if(seconds>0&&nanos<0||seconds<0&&nanos>0)throw new Error(`cannot e\
ncode message ${val.$typeName} to JSON: nanos sign must match seconds sign`);let text2=val.seconds.toString();if(nanos!==
0){let nanosStr=Math.abs(nanos).toString();nanosStr="0".repeat(9-nanosStr.length)+nanosStr,nanosStr.substring(3)==="0000\
00"?nanosStr=nanosStr.substring(0,3):nanosStr.substring(6)==="000"&&(nanosStr=nanosStr.substring(0,6)),text2+="."+nanosStr,
nanos<0&&seconds==0&&(text2="-"+text2)}return text2+"s"}function fieldMaskToJson(val){return val.paths.map(p=>{if(protoSnakeCase(
protoCamelCase(p))!==p)throw new Error(`cannot encode message ${val.$typeName} to JSON: lowerCamelCase of path name "${p}\
" is irreversible`);return protoCamelCase(p)}).join(",")}function structToJson(val){let json2={},keys=Object.keys(val.fields);
for(let i=0;i<keys.length;i++){let key=keys[i];setOwn(json2,key,valueToJson(val.fields[key]))}return json2}function valueToJson(val){
switch(val.kind.case){case"nullValue":return null;case"numberValue":if(!Number.isFinite(val.kind.value))throw new Error(
`${val.$typeName} cannot be NaN or Infinity`);return val.kind.value;case"boolValue":return val.kind.value;case"stringVal\
ue":return val.kind.value;case"structValue":return structToJson(val.kind.value);case"listValue":return listValueToJson(val.
kind.value);default:throw new Error(`${val.$typeName} must have a value`)}}function listValueToJson(val){return val.values.
map(valueToJson)}function timestampToJson(val){let ms=Number(val.seconds)*1e3;if(ms<timestampMsMin||ms>timestampMsMax)throw new Error(
`cannot encode message ${val.$typeName} to JSON: must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z inclusive`);if(val.
nanos<0)throw new Error(`cannot encode message ${val.$typeName} to JSON: nanos must not be negative`);if(val.nanos>999999999)
throw new Error(`cannot encode message ${val.$typeName} to JSON: nanos must not be greater than 999999999`);let z="Z";if(val.
nanos>0){let nanosStr=(val.nanos+1e9).toString().substring(1);nanosStr.substring(3)==="000000"?z="."+nanosStr.substring(
0,3)+"Z":nanosStr.substring(6)==="000"?z="."+nanosStr.substring(0,6)+"Z":z="."+nanosStr+"Z"}return new Date(ms).toISOString().
replace(".000Z",z)}var IMPLICIT6=2;function makeReadContext2(options){return Object.assign(Object.assign({ignoreUnknownFields:!1,recursionLimit:100},
options),{depth:0})}function fromJsonString(schema,json2,options){return fromJson(schema,parseJsonString(json2,schema.typeName),
options)}function fromJson(schema,json2,options){let message=create(schema);return readMessage(schema,message,json2,options),message}function readMessage(schema,message,json2,options){try{compiledReader2(schema)(message,json2,makeReadContext2(options))}catch(e){
throw isFieldError(e)?new Error(`cannot decode ${e.field()} from JSON: ${e.message}`,{cause:e}):e}}var compiledReaders2=new WeakMap;function compiledReader2(desc){let compiled=compiledReaders2.get(desc);return compiled===
void 0&&(compiled=compileMessage4(desc)),compiled}function compileMessage4(desc){let descString=String(desc),readWkt=compileWkt2(
desc);if(readWkt!==void 0){let compiled2=(message,json2,ctx)=>{if(++ctx.depth>ctx.recursionLimit)throw new Error(`cannot\
 decode ${descString} from JSON: maximum recursion depth of ${ctx.recursionLimit} reached`);readWkt(message,json2,ctx),ctx.
depth--};return compiledReaders2.set(desc,compiled2),compiled2}let typeName=desc.typeName,fieldsByJsonKey=new Map,compiled=(message,json2,ctx)=>{
var _a;if(++ctx.depth>ctx.recursionLimit)throw new Error(`cannot decode ${descString} from JSON: maximum recursion depth\
 of ${ctx.recursionLimit} reached`);if(json2==null||Array.isArray(json2)||typeof json2!="object")throw new Error(`cannot\
 decode ${descString} from JSON: ${formatVal(json2)}`);let oneofSeen=new Map,fieldSeen=new Set,jsonKeys=Object.keys(json2);
for(let i=0;i<jsonKeys.length;i++){let jsonKey=jsonKeys[i],jsonValue=json2[jsonKey],entry=fieldsByJsonKey.get(jsonKey);if(entry!==
void 0){let field=entry.field;if(fieldSeen.has(field))throw new FieldError(field,"set multiple times");if(fieldSeen.add(
field),entry.oneofScalarNullSkip&&jsonValue===null)continue;if(entry.oneof){let seen=oneofSeen.get(entry.oneof);if(seen!==
void 0)throw new FieldError(entry.oneof,`oneof set multiple times by ${seen.name} and ${field.name}`);oneofSeen.set(entry.
oneof,field)}entry.read(message,jsonValue,ctx)}else{let extension=jsonKey.startsWith("[")&&jsonKey.endsWith("]")?(_a=ctx.
registry)===null||_a===void 0?void 0:_a.getExtension(jsonKey.substring(1,jsonKey.length-1)):void 0;if(extension?.extendee.
typeName==typeName){let[container,field,get]=createExtensionContainer(extension);compileFieldReader2(field)(container[unsafeLocal],
jsonValue,ctx),setExtension(message,extension,get())}if(extension===void 0&&!ctx.ignoreUnknownFields)throw new Error(`ca\
nnot decode ${descString} from JSON: key "${jsonKey}" is unknown`)}}ctx.depth--};compiledReaders2.set(desc,compiled);for(let field of desc.
fields){let entry={read:compileFieldReader2(field),field,oneof:field.oneof,oneofScalarNullSkip:field.oneof!==void 0&&field.
fieldKind=="scalar"};fieldsByJsonKey.set(field.name,entry).set(field.jsonName,entry)}return compiled}function compileWkt2(desc){
if(desc.typeName.startsWith("google.protobuf."))switch(desc.typeName){case"google.protobuf.Any":return(message,json2,ctx)=>anyFromJson(
message,json2,ctx);case"google.protobuf.Timestamp":return(message,json2)=>timestampFromJson(message,json2);case"google.p\
rotobuf.Duration":return(message,json2)=>durationFromJson(message,json2);case"google.protobuf.FieldMask":return(message,json2)=>fieldMaskFromJson(
message,json2);case"google.protobuf.Struct":return(message,json2,ctx)=>structFromJson(message,json2,ctx);case"google.pro\
tobuf.Value":return(message,json2,ctx)=>valueFromJson(message,json2,ctx);case"google.protobuf.ListValue":return(message,json2,ctx)=>listValueFromJson(
message,json2,ctx);default:if(isWrapperDesc(desc)){let valueField=desc.fields[0],localName=valueField.localName,scalar=valueField.
scalar,longAsString=valueField.longAsString,readScalar=compileScalarConverter(valueField);return(message,json2)=>{json2===
null?message[localName]=scalarZeroValue(scalar,longAsString):message[localName]=readScalar(json2)}}return}}function compileFieldReader2(field){
switch(field.fieldKind){case"scalar":return compileScalarFieldReader2(field);case"enum":return compileEnumFieldReader2(field);case"\
message":return compileMessageFieldReader2(field);case"list":return compileListFieldReader2(field);case"map":return compileMapFieldReader2(
field)}}function compileScalarFieldReader2(field){let readScalar=compileScalarConverter(field),localName=field.localName;
if(field.oneof){let oneofLocalName=field.oneof.localName;return(message,json2)=>{message[oneofLocalName]={case:localName,
value:readScalar(json2)}}}let clear=compileClear(field);return(message,json2)=>{json2===null?clear(message):message[localName]=
readScalar(json2)}}function compileClear(field){let localName=field.localName;if(field.presence!=IMPLICIT6)return message=>{
delete message[localName]};if(field.fieldKind=="enum"){let zero=field.enum.values[0].number;return message=>{message[localName]=
zero}}let scalar=field.scalar,longAsString=field.longAsString;return message=>{message[localName]=scalarZeroValue(scalar,
longAsString)}}function compileEnumFieldReader2(field){let readEnumValue=compileEnumConverter(field.enum),checkEnum=compileEnumCheck(
field.enum),localName=field.localName,nullResets=field.enum.typeName!="google.protobuf.NullValue";if(field.oneof){let oneofLocalName=field.
oneof.localName;return(message,json2,ctx)=>{if(json2===null&&nullResets){message[oneofLocalName].case===localName&&(message[oneofLocalName]=
{case:void 0});return}let value=readEnumValue(json2,ctx.ignoreUnknownFields);if(value===tokenIgnoredUnknownEnum)return;let check=checkEnum(
value);if(check!==!0)throw new FieldError(field,reasonSingular(field,value,check));message[oneofLocalName]={case:localName,
value}}}let clear=compileClear(field);return(message,json2,ctx)=>{if(json2===null&&nullResets){clear(message);return}let value=readEnumValue(
json2,ctx.ignoreUnknownFields);if(value===tokenIgnoredUnknownEnum)return;let check=checkEnum(value);if(check!==!0)throw new FieldError(
field,reasonSingular(field,value,check));message[localName]=value}}function compileMessageFieldReader2(field){let localName=field.
localName,{toMessage,toLocal}=localMessageMapper(field),readChild=compiledReader2(field.message),nullResets=field.message.
typeName!="google.protobuf.Value";if(field.oneof){let oneofLocalName=field.oneof.localName;return(message,json2,ctx)=>{let oneof=message[oneofLocalName];
if(json2===null&&nullResets){oneof.case===localName&&(message[oneofLocalName]={case:void 0});return}let child=toMessage(
oneof.case===localName?oneof.value:void 0);readChild(child,json2,ctx),message[oneofLocalName]={case:localName,value:toLocal(
child)}}}return(message,json2,ctx)=>{if(json2===null&&nullResets){delete message[localName];return}let child=toMessage(message[localName]);
readChild(child,json2,ctx),message[localName]=toLocal(child)}}function compileListFieldReader2(field){let localName=field.
localName,readItem=compileListItemReader(field);return(message,json2,ctx)=>{if(json2===null)return;if(!Array.isArray(json2))
throw new FieldError(field,"expected Array, got "+formatVal(json2));let items2=message[localName];for(let i=0;i<json2.length;i++){
let value=readItem(json2[i],ctx,items2.length);value!==tokenIgnoredUnknownEnum&&items2.push(value)}}}function compileListItemReader(field){
switch(field.listKind){case"scalar":{let parseScalar=compileScalarParse(field),checkValue=checkScalarValue(field.scalar),
toLocal=compileScalarToLocal(field);return(json2,ctx,index)=>{if(json2===null)throw new FieldError(field,"list item must\
 not be null");let value=parseScalar(json2),check=checkValue(value);if(check!==!0)throw new FieldError(field,`list item \
#${index+1}: ${reasonSingular(field,value,check)}`);return toLocal(value)}}case"enum":{let readEnumValue=compileEnumConverter(
field.enum),checkEnum=compileEnumCheck(field.enum),nullResets=field.enum.typeName!="google.protobuf.NullValue";return(json2,ctx,index)=>{
if(json2===null&&nullResets)throw new FieldError(field,"list item must not be null");let value=readEnumValue(json2,ctx.ignoreUnknownFields);
if(value===tokenIgnoredUnknownEnum)return value;let check=checkEnum(value);if(check!==!0)throw new FieldError(field,`lis\
t item #${index+1}: ${reasonSingular(field,value,check)}`);return value}}case"message":{let{toMessage,toLocal}=localMessageMapper(
field),readChild=compiledReader2(field.message),nullResets=field.message.typeName!="google.protobuf.Value";return(json2,ctx)=>{
if(json2===null&&nullResets)throw new FieldError(field,"list item must not be null");let child=toMessage(void 0);return readChild(
child,json2,ctx),toLocal(child)}}}}function compileMapFieldReader2(field){let localName=field.localName,mapKey=field.mapKey,
parseMapKey=compileMapKeyParse(mapKey),checkMapKey=checkScalarValue(mapKey),parseValue,checkValue,toLocalValue=value=>value,
nullResets=!0;switch(field.mapKind){case"scalar":{parseValue=compileScalarParse(field),checkValue=checkScalarValue(field.
scalar),toLocalValue=compileScalarToLocal(field);break}case"enum":{let readEnumValue=compileEnumConverter(field.enum);parseValue=
(json2,ctx)=>readEnumValue(json2,ctx.ignoreUnknownFields),checkValue=compileEnumCheck(field.enum),nullResets=field.enum.
typeName!="google.protobuf.NullValue";break}case"message":{let{toMessage,toLocal}=localMessageMapper(field),readChild=compiledReader2(
field.message);nullResets=field.message.typeName!="google.protobuf.Value",parseValue=(json2,ctx)=>{let child=toMessage(void 0);
return readChild(child,json2,ctx),toLocal(child)};break}}return(message,json2,ctx)=>{if(json2===null)return;if(typeof json2!=
"object"||Array.isArray(json2))throw new FieldError(field,"expected object, got "+formatVal(json2));let record=message[localName],
seen=new Set,jsonMapKeys=Object.keys(json2);for(let i=0;i<jsonMapKeys.length;i++){let jsonMapKey=jsonMapKeys[i],jsonMapValue=json2[jsonMapKey],
key=parseMapKey(jsonMapKey);if(seen.has(key))throw new FieldError(field,`duplicate map key "${jsonMapKey}"`);if(seen.add(
key),jsonMapValue===null&&nullResets)throw new FieldError(field,"map value must not be null");let value=parseValue(jsonMapValue,
ctx);if(value===tokenIgnoredUnknownEnum)continue;let checkKey=checkMapKey(key);if(checkKey!==!0)throw new FieldError(field,
`invalid map key: ${reasonSingular({scalar:mapKey},key,checkKey)}`);if(checkValue!==void 0){let check=checkValue(value);
if(check!==!0)throw new FieldError(field,`map entry ${formatVal(key)}: ${reasonSingular(field,value,check)}`)}setOwn(record,
key,toLocalValue(value))}}}var tokenIgnoredUnknownEnum=Symbol();function compileEnumConverter(desc){let zero=desc.values[0].
number,numbers=new Map;for(let value of desc.values)numbers.set(value.jsonName,value.number);for(let value of desc.values)
numbers.set(value.name,value.number);return(json2,ignoreUnknownFields)=>{if(json2===null)return zero;switch(typeof json2){case"\
number":if(Number.isInteger(json2))return json2;break;case"string":{let number=numbers.get(json2);if(number!==void 0)return number;
if(ignoreUnknownFields)return tokenIgnoredUnknownEnum;break}}throw new Error(`cannot decode ${desc} from JSON: ${formatVal(
json2)}`)}}function compileEnumCheck(desc){if(desc.open)return checkScalarValue(ScalarType.INT32);let values=desc.values;
return value=>values.some(v=>v.number===value)}function compileScalarConverter(field){let parseScalar=compileScalarParse(
field),checkValue=checkScalarValue(field.scalar),toLocal=compileScalarToLocal(field);return json2=>{let value=parseScalar(
json2),check=checkValue(value);if(check!==!0)throw new FieldError(field,reasonSingular(field,value,check));return toLocal(
value)}}function compileScalarParse(field){switch(field.scalar){case ScalarType.DOUBLE:case ScalarType.FLOAT:return json2=>{
if(json2==="NaN")return NaN;if(json2==="Infinity")return Number.POSITIVE_INFINITY;if(json2==="-Infinity")return Number.NEGATIVE_INFINITY;
if(typeof json2=="number"){if(Number.isNaN(json2))throw new FieldError(field,"unexpected NaN number");if(!Number.isFinite(
json2))throw new FieldError(field,"unexpected infinite number");return json2}if(typeof json2=="string"){if(json2===""||json2.
trim().length!==json2.length)return json2;let float=Number(json2);return Number.isFinite(float)?float:json2}return json2};case ScalarType.
INT32:case ScalarType.FIXED32:case ScalarType.SFIXED32:case ScalarType.SINT32:case ScalarType.UINT32:return int32FromJson;case ScalarType.
BYTES:return json2=>{if(typeof json2=="string"){if(json2==="")return new Uint8Array(0);try{return base64Decode(json2)}catch(e){
let message=e instanceof Error?e.message:String(e);throw new FieldError(field,message)}}return json2};default:return json2=>json2}}
function compileScalarToLocal(field){let longAsString=field.fieldKind!=="map"&&field.longAsString;switch(field.scalar){case ScalarType.
INT64:case ScalarType.SFIXED64:case ScalarType.SINT64:return longAsString?value=>String(value):value=>typeof value=="str\
ing"||typeof value=="number"?protoInt64.parse(value):value;case ScalarType.FIXED64:case ScalarType.UINT64:return longAsString?
value=>String(value):value=>typeof value=="string"||typeof value=="number"?protoInt64.uParse(value):value;default:return value=>value}}
function compileMapKeyParse(type){switch(type){case ScalarType.BOOL:return jsonString=>{switch(jsonString){case"true":return!0;case"\
false":return!1}return jsonString};case ScalarType.INT32:case ScalarType.FIXED32:case ScalarType.UINT32:case ScalarType.
SFIXED32:case ScalarType.SINT32:return int32FromJson;case ScalarType.INT64:case ScalarType.SINT64:case ScalarType.SFIXED64:case ScalarType.
UINT64:case ScalarType.FIXED64:return jsonString=>/^-?0+$/.test(jsonString)?"0":jsonString.replace(/^(-?)0+(?=\d)/,"$1");default:
return jsonString=>jsonString}}function int32FromJson(json2){if(typeof json2=="string"){if(json2===""||json2.trim().length!==
json2.length)return json2;let num=Number(json2);return Number.isNaN(num)?json2:num}return json2}function parseJsonString(jsonString,typeName){
let json2;try{json2=JSON.parse(jsonString)}catch(e){let message=e instanceof Error?e.message:String(e);throw new Error(`\
cannot decode message ${typeName} from JSON: ${message}`,{cause:e})}return checkDuplicateKeys(jsonString,typeName),json2}
function checkDuplicateKeys(jsonString,typeName){let stack=[],expectKey=!1,i=0;for(;i<jsonString.length;)switch(jsonString[i]){case"\
{":stack.push(new Set),expectKey=!0,i++;break;case"[":stack.push(null),expectKey=!1,i++;break;case"}":case"]":stack.pop(),
expectKey=!1,i++;break;case",":expectKey=stack[stack.length-1]!=null,i++;break;case":":expectKey=!1,i++;break;case'"':{let open=i++,
escaped=!1;for(;i<jsonString.length;){if(jsonString[i]=="\\"){escaped=!0,i+=2;continue}if(jsonString[i]=='"')break;i++}let close=i++,
seen=stack[stack.length-1];if(expectKey&&seen){let name=escaped?JSON.parse(jsonString.substring(open,close+1)):jsonString.
substring(open+1,close);if(seen.has(name))throw new Error(`cannot decode message ${typeName} from JSON: duplicate object\
 key "${name}"`);seen.add(name)}expectKey=!1;break}default:i++;break}}function anyFromJson(any,json2,ctx){var _a;if(json2===
null||Array.isArray(json2)||typeof json2!="object")throw new Error(`cannot decode message ${any.$typeName} from JSON: ex\
pected object but got ${formatVal(json2)}`);if(Object.keys(json2).length==0)return;let typeUrl=json2["@type"];if(typeof typeUrl!=
"string"||typeUrl=="")throw new Error(`cannot decode message ${any.$typeName} from JSON: "@type" is empty`);let typeName=typeUrl.
includes("/")?typeUrl.substring(typeUrl.lastIndexOf("/")+1):typeUrl;if(!typeName.length)throw new Error(`cannot decode m\
essage ${any.$typeName} from JSON: "@type" is invalid`);let desc=(_a=ctx.registry)===null||_a===void 0?void 0:_a.getMessage(
typeName);if(!desc)throw new Error(`cannot decode message ${any.$typeName} from JSON: ${typeUrl} is not in the type regi\
stry`);let message=create(desc);if(hasCustomJsonRepresentation(desc)&&Object.prototype.hasOwnProperty.call(json2,"value"))
compiledReader2(desc)(message,json2.value,ctx);else{let copy={};for(let key of Object.keys(json2))key!=="@type"&&setOwn(
copy,key,json2[key]);compiledReader2(desc)(message,copy,ctx)}anyPack(desc,message,any)}function timestampFromJson(timestamp,json2){
if(typeof json2!="string")throw new Error(`cannot decode message ${timestamp.$typeName} from JSON: ${formatVal(json2)}`);
let matches=json2.match(/^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-][0-9][0-9]:[0-9][0-9]))$/);
if(!matches)throw new Error(`cannot decode message ${timestamp.$typeName} from JSON: invalid RFC 3339 string`);let ms=Date.
parse(matches[1]+"-"+matches[2]+"-"+matches[3]+"T"+matches[4]+":"+matches[5]+":"+matches[6]+(matches[8]?matches[8]:"Z"));
if(Number.isNaN(ms))throw new Error(`cannot decode message ${timestamp.$typeName} from JSON: invalid RFC 3339 string`);if(ms<
timestampMsMin||ms>timestampMsMax)throw new Error(`cannot decode message ${timestamp.$typeName} from JSON: must be from \
0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z inclusive`);timestamp.seconds=protoInt64.parse(ms/1e3),timestamp.nanos=0,matches[7]&&
(timestamp.nanos=parseInt("1"+matches[7]+"0".repeat(9-matches[7].length))-1e9)}function durationFromJson(duration,json2){
if(typeof json2!="string")throw new Error(`cannot decode message ${duration.$typeName} from JSON: ${formatVal(json2)}`);
let match=json2.match(/^(-?[0-9]+)(?:\.([0-9]+))?s/);if(match===null)throw new Error(`cannot decode message ${duration.$typeName}\
 from JSON: ${formatVal(json2)}`);let longSeconds=Number(match[1]);if(longSeconds>durationSecondsMax||longSeconds<durationSecondsMin)
throw new Error(`cannot decode message ${duration.$typeName} from JSON: ${formatVal(json2)}`);if(duration.seconds=protoInt64.
parse(longSeconds),typeof match[2]!="string")return;let nanosStr=match[2]+"0".repeat(9-match[2].length);duration.nanos=parseInt(
nanosStr),(longSeconds<0||Object.is(longSeconds,-0))&&(duration.nanos=-duration.nanos)}function fieldMaskFromJson(fieldMask,json2){
if(typeof json2!="string")throw new Error(`cannot decode message ${fieldMask.$typeName} from JSON: ${formatVal(json2)}`);
json2!==""&&(fieldMask.paths=json2.split(",").map(path=>{if(path.includes("_"))throw new Error(`cannot decode message ${fieldMask.
$typeName} from JSON: path names must be lowerCamelCase`);return protoSnakeCase(path)}))}function structFromJson(struct,json2,ctx){
if(typeof json2!="object"||json2==null||Array.isArray(json2))throw new Error(`cannot decode message ${struct.$typeName} \
from JSON ${formatVal(json2)}`);let keys=Object.keys(json2);for(let i=0;i<keys.length;i++){let key=keys[i],parsedValue=create(
ValueSchema);valueFromJson(parsedValue,json2[key],ctx),setOwn(struct.fields,key,parsedValue)}}function valueFromJson(value,json2,ctx){
if(++ctx.depth>ctx.recursionLimit)throw new Error(`cannot decode ${value.$typeName} from JSON: maximum recursion depth o\
f ${ctx.recursionLimit} reached`);switch(typeof json2){case"number":value.kind={case:"numberValue",value:json2};break;case"\
string":value.kind={case:"stringValue",value:json2};break;case"boolean":value.kind={case:"boolValue",value:json2};break;case"\
object":if(json2===null)value.kind={case:"nullValue",value:NullValue.NULL_VALUE};else if(Array.isArray(json2)){let listValue=create(
ListValueSchema);listValueFromJson(listValue,json2,ctx),value.kind={case:"listValue",value:listValue}}else{let struct=create(
StructSchema);structFromJson(struct,json2,ctx),value.kind={case:"structValue",value:struct}}break;default:throw new Error(
`cannot decode message ${value.$typeName} from JSON ${formatVal(json2)}`)}return ctx.depth--,value}function listValueFromJson(listValue,json2,ctx){
if(!Array.isArray(json2))throw new Error(`cannot decode message ${listValue.$typeName} from JSON ${formatVal(json2)}`);for(let i=0;i<
json2.length;i++){let value=create(ValueSchema);valueFromJson(value,json2[i],ctx),listValue.values.push(value)}}var Code;(function(Code2){Code2[Code2.Canceled=1]="Canceled",Code2[Code2.Unknown=2]="Unknown",Code2[Code2.InvalidArgument=
3]="InvalidArgument",Code2[Code2.DeadlineExceeded=4]="DeadlineExceeded",Code2[Code2.NotFound=5]="NotFound",Code2[Code2.AlreadyExists=
6]="AlreadyExists",Code2[Code2.PermissionDenied=7]="PermissionDenied",Code2[Code2.ResourceExhausted=8]="ResourceExhauste\
d",Code2[Code2.FailedPrecondition=9]="FailedPrecondition",Code2[Code2.Aborted=10]="Aborted",Code2[Code2.OutOfRange=11]="\
OutOfRange",Code2[Code2.Unimplemented=12]="Unimplemented",Code2[Code2.Internal=13]="Internal",Code2[Code2.Unavailable=14]=
"Unavailable",Code2[Code2.DataLoss=15]="DataLoss",Code2[Code2.Unauthenticated=16]="Unauthenticated"})(Code||(Code={}));function codeToString(value){let name=Code[value];return typeof name!="string"?value.toString():name[0].toLowerCase()+name.
substring(1).replace(/[A-Z]/g,c=>"_"+c.toLowerCase())}var stringToCode;function codeFromString(value){if(!stringToCode){
stringToCode={};for(let value2 of Object.values(Code))typeof value2!="string"&&(stringToCode[codeToString(value2)]=value2)}
return stringToCode[value]}var ConnectError=class _ConnectError extends Error{constructor(message,code2=Code.Unknown,metadata,outgoingDetails,cause){
super(createMessage(message,code2)),this.name="ConnectError",this.isWireError=!1,Object.setPrototypeOf(this,new.target.prototype),
this.rawMessage=message,this.code=code2,this.metadata=new Headers(metadata??{}),this.details=outgoingDetails??[],this.cause=
cause}static from(reason,code2=Code.Unknown){return reason instanceof _ConnectError?reason:reason instanceof Error?reason.
name=="AbortError"||reason.name=="TimeoutError"?new _ConnectError(reason.message,Code.Canceled):new _ConnectError(reason.
message,code2,void 0,void 0,reason):new _ConnectError(String(reason),code2,void 0,void 0,reason)}static[Symbol.hasInstance](v){
return v instanceof Error?Object.getPrototypeOf(v)===_ConnectError.prototype?!0:v.name==="ConnectError"&&"code"in v&&typeof v.
code=="number"&&"metadata"in v&&"details"in v&&Array.isArray(v.details)&&"rawMessage"in v&&typeof v.rawMessage=="string"&&
"cause"in v:!1}findDetails(typeOrRegistry){let registry=typeOrRegistry.kind==="message"?{getMessage:typeName=>typeName===
typeOrRegistry.typeName?typeOrRegistry:void 0}:typeOrRegistry,details=[];for(let data of this.details){if("desc"in data){
registry.getMessage(data.desc.typeName)&&details.push(create(data.desc,data.value));continue}let desc=registry.getMessage(
data.type);if(desc)try{details.push(fromBinary(desc,data.value))}catch{}}return details}};function createMessage(message,code2){
return message.length?`[${codeToString(code2)}] ${message}`:`[${codeToString(code2)}]`}function appendHeaders(...headers){let h=new Headers;for(let e of headers)e.forEach((value,key)=>{h.append(key,value)});
return h}var compressedFlag=1;var maxReadMaxBytes=4294967295,maxWriteMaxBytes=maxReadMaxBytes,defaultCompressMinBytes=1024;function validateReadWriteMaxBytes(readMaxBytes,writeMaxBytes,compressMinBytes){
if(writeMaxBytes??(writeMaxBytes=maxWriteMaxBytes),readMaxBytes??(readMaxBytes=maxReadMaxBytes),compressMinBytes??(compressMinBytes=
defaultCompressMinBytes),writeMaxBytes<1||writeMaxBytes>maxWriteMaxBytes)throw new ConnectError(`writeMaxBytes ${writeMaxBytes}\
 must be >= 1 and <= ${maxWriteMaxBytes}`,Code.Internal);if(readMaxBytes<1||readMaxBytes>maxReadMaxBytes)throw new ConnectError(
`readMaxBytes ${readMaxBytes} must be >= 1 and <= ${maxReadMaxBytes}`,Code.Internal);return{readMaxBytes,writeMaxBytes,compressMinBytes}}
function assertWriteMaxBytes(writeMaxBytes,bytesWritten){if(bytesWritten>writeMaxBytes)throw new ConnectError(`message s\
ize ${bytesWritten} is larger than configured writeMaxBytes ${writeMaxBytes}`,Code.ResourceExhausted)}function assertReadMaxBytes(readMaxBytes,bytesRead,totalSizeKnown=!1){
if(bytesRead>readMaxBytes){let message=`message size is larger than configured readMaxBytes ${readMaxBytes}`;throw totalSizeKnown&&
(message=`message size ${bytesRead} is larger than configured readMaxBytes ${readMaxBytes}`),new ConnectError(message,Code.
ResourceExhausted)}}function createEnvelopeDecoder(readMaxBytes){return new EnvelopeDecoderImpl(readMaxBytes)}var EnvelopeDecoderImpl=class{constructor(readMaxBytes){
this.readMaxBytes=readMaxBytes,this.header=new Uint8Array(5),this.headerView=new DataView(this.header.buffer),this.buf=[]}get byteLength(){
return this.buf.reduce((a,b)=>a+b.byteLength,0)}decode(chunk){this.buf.push(chunk);let envs=[];for(;;){let env=this.pop();
if(!env)break;envs.push(env)}return envs}pop(){if(!(!this.env&&(this.env=this.head(),!this.env))&&this.cons(this.env.data)){
let env=this.env;return this.env=void 0,env}}head(){if(!this.cons(this.header))return;let flags=this.headerView.getUint8(
0),length=this.headerView.getUint32(1);return assertReadMaxBytes(this.readMaxBytes,length,!0),{flags,data:new Uint8Array(
length)}}cons(target){let wantLength=target.byteLength;if(this.byteLength<wantLength)return!1;let offset=0;for(;offset<wantLength;){
let chunk=this.buf.shift();chunk.byteLength>wantLength-offset?(target.set(chunk.subarray(0,wantLength-offset),offset),this.
buf.unshift(chunk.subarray(wantLength-offset)),offset+=wantLength-offset):(target.set(chunk,offset),offset+=chunk.byteLength)}
return!0}};async function envelopeCompress(envelope,compression,compressMinBytes){let{flags,data}=envelope;if((flags&compressedFlag)===
compressedFlag)throw new ConnectError("invalid envelope, already compressed",Code.Internal);return compression&&data.byteLength>=
compressMinBytes&&(data=await compression.compress(data),flags=flags|compressedFlag),{data,flags}}async function envelopeDecompress(envelope,compression,readMaxBytes){
let{flags,data}=envelope;if((flags&compressedFlag)===compressedFlag){if(!compression)throw new ConnectError("received co\
mpressed envelope, but do not know how to decompress",Code.Internal);data=await compression.decompress(data,readMaxBytes),
flags=flags^compressedFlag}return{data,flags}}function encodeEnvelope(flags,data){let bytes=new Uint8Array(data.length+5);
bytes.set(data,5);let v=new DataView(bytes.buffer,bytes.byteOffset,bytes.byteLength);return v.setUint8(0,flags),v.setUint32(
1,data.length),bytes}var __asyncValues=function(o){if(!Symbol.asyncIterator)throw new TypeError("Symbol.asyncIterator is not defined.");var m=o[Symbol.
asyncIterator],i;return m?m.call(o):(o=typeof __values=="function"?__values(o):o[Symbol.iterator](),i={},verb("next"),verb(
"throw"),verb("return"),i[Symbol.asyncIterator]=function(){return this},i);function verb(n){i[n]=o[n]&&function(v){return new Promise(
function(resolve,reject){v=o[n](v),settle(resolve,reject,v.done,v.value)})}}function settle(resolve,reject,d,v){Promise.
resolve(v).then(function(v2){resolve({value:v2,done:d})},reject)}},__await=function(v){return this instanceof __await?(this.
v=v,this):new __await(v)},__asyncGenerator=function(thisArg,_arguments,generator){if(!Symbol.asyncIterator)throw new TypeError(
"Symbol.asyncIterator is not defined.");var g=generator.apply(thisArg,_arguments||[]),i,q=[];return i=Object.create((typeof AsyncIterator==
"function"?AsyncIterator:Object).prototype),verb("next"),verb("throw"),verb("return",awaitReturn),i[Symbol.asyncIterator]=
function(){return this},i;function awaitReturn(f){return function(v){return Promise.resolve(v).then(f,reject)}}function verb(n,f){
g[n]&&(i[n]=function(v){return new Promise(function(a,b){q.push([n,v,a,b])>1||resume(n,v)})},f&&(i[n]=f(i[n])))}function resume(n,v){
try{step(g[n](v))}catch(e){settle(q[0][3],e)}}function step(r){r.value instanceof __await?Promise.resolve(r.value.v).then(
fulfill,reject):settle(q[0][2],r)}function fulfill(value){resume("next",value)}function reject(value){resume("throw",value)}
function settle(f,v){f(v),q.shift(),q.length&&resume(q[0][0],q[0][1])}},__asyncDelegator=function(o){var i,p;return i={},
verb("next"),verb("throw",function(e){throw e}),verb("return"),i[Symbol.iterator]=function(){return this},i;function verb(n,f){
i[n]=o[n]?function(v){return(p=!p)?{value:__await(o[n](v)),done:!1}:f?f(v):v}:f}};function pipeTo(source,...rest){let[transforms,
sink,opt]=pickTransformsAndSink(rest),iterable=source,abortable;return opt?.propagateDownStreamError===!0&&(iterable=abortable=
makeIterableAbortable(iterable)),iterable=pipe(iterable,...transforms,{propagateDownStreamError:!1}),sink(iterable).catch(
reason=>abortable?abortable.abort(reason).then(()=>Promise.reject(reason)):Promise.reject(reason))}function pickTransformsAndSink(rest){
let opt;typeof rest[rest.length-1]!="function"&&(opt=rest.pop());let sink=rest.pop();return[rest,sink,opt]}function sinkAllBytes(readMaxBytes,lengthHint){return async iterable=>await readAllBytes(iterable,readMaxBytes,lengthHint)}
function pipe(source,...rest){return __asyncGenerator(this,arguments,function*(){var _a;let[transforms,opt]=pickTransforms(
rest),abortable,sourceIt=source[Symbol.asyncIterator](),iterable={[Symbol.asyncIterator](){return sourceIt}};opt?.propagateDownStreamError===
!0&&(iterable=abortable=makeIterableAbortable(iterable));for(let t of transforms)iterable=t(iterable);let it=iterable[Symbol.
asyncIterator]();try{for(;;){let r=yield __await(it.next());if(r.done===!0)break;if(!abortable){yield yield __await(r.value);
continue}try{yield yield __await(r.value)}catch(e){throw yield __await(abortable.abort(e)),e}}}finally{opt?.propagateDownStreamError===
!0&&((_a=sourceIt.return)===null||_a===void 0||_a.call(sourceIt).catch(()=>{}))}})}function pickTransforms(rest){let opt;
return typeof rest[rest.length-1]!="function"&&(opt=rest.pop()),[rest,opt]}function transformSerializeEnvelope(serialization,endStreamFlag2,endSerialization){return endStreamFlag2===void 0||endSerialization===
void 0?function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,e_4,_b,_c;try{for(var _d=!0,iterable_4=__asyncValues(
iterable),iterable_4_1;iterable_4_1=yield __await(iterable_4.next()),_a=iterable_4_1.done,!_a;_d=!0){_c=iterable_4_1.value,
_d=!1;let chunk=_c,data=serialization.serialize(chunk);yield yield __await({flags:0,data})}}catch(e_4_1){e_4={error:e_4_1}}finally{
try{!_d&&!_a&&(_b=iterable_4.return)&&(yield __await(_b.call(iterable_4)))}finally{if(e_4)throw e_4.error}}})}:function(iterable){
return __asyncGenerator(this,arguments,function*(){var _a,e_5,_b,_c;try{for(var _d=!0,iterable_5=__asyncValues(iterable),
iterable_5_1;iterable_5_1=yield __await(iterable_5.next()),_a=iterable_5_1.done,!_a;_d=!0){_c=iterable_5_1.value,_d=!1;let chunk=_c,
data,flags=0;chunk.end?(flags=flags|endStreamFlag2,data=endSerialization.serialize(chunk.value)):data=serialization.serialize(
chunk.value),yield yield __await({flags,data})}}catch(e_5_1){e_5={error:e_5_1}}finally{try{!_d&&!_a&&(_b=iterable_5.return)&&
(yield __await(_b.call(iterable_5)))}finally{if(e_5)throw e_5.error}}})}}function transformParseEnvelope(serialization,endStreamFlag2,endSerialization){
return endSerialization&&endStreamFlag2!==void 0?function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,
e_6,_b,_c;try{for(var _d=!0,iterable_6=__asyncValues(iterable),iterable_6_1;iterable_6_1=yield __await(iterable_6.next()),
_a=iterable_6_1.done,!_a;_d=!0){_c=iterable_6_1.value,_d=!1;let{flags,data}=_c;(flags&endStreamFlag2)===endStreamFlag2?yield yield __await(
{value:endSerialization.parse(data),end:!0}):yield yield __await({value:serialization.parse(data),end:!1})}}catch(e_6_1){
e_6={error:e_6_1}}finally{try{!_d&&!_a&&(_b=iterable_6.return)&&(yield __await(_b.call(iterable_6)))}finally{if(e_6)throw e_6.
error}}})}:function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,e_7,_b,_c;try{for(var _d=!0,iterable_7=__asyncValues(
iterable),iterable_7_1;iterable_7_1=yield __await(iterable_7.next()),_a=iterable_7_1.done,!_a;_d=!0){_c=iterable_7_1.value,
_d=!1;let{flags,data}=_c;if(endStreamFlag2!==void 0&&(flags&endStreamFlag2)===endStreamFlag2){if(endSerialization===null)
throw new ConnectError("unexpected end flag",Code.InvalidArgument);continue}yield yield __await(serialization.parse(data))}}catch(e_7_1){
e_7={error:e_7_1}}finally{try{!_d&&!_a&&(_b=iterable_7.return)&&(yield __await(_b.call(iterable_7)))}finally{if(e_7)throw e_7.
error}}})}}function transformCompressEnvelope(compression,compressMinBytes){return function(iterable){return __asyncGenerator(
this,arguments,function*(){var _a,e_8,_b,_c;try{for(var _d=!0,iterable_8=__asyncValues(iterable),iterable_8_1;iterable_8_1=
yield __await(iterable_8.next()),_a=iterable_8_1.done,!_a;_d=!0)_c=iterable_8_1.value,_d=!1,yield yield __await(yield __await(
envelopeCompress(_c,compression,compressMinBytes)))}catch(e_8_1){e_8={error:e_8_1}}finally{try{!_d&&!_a&&(_b=iterable_8.
return)&&(yield __await(_b.call(iterable_8)))}finally{if(e_8)throw e_8.error}}})}}function transformDecompressEnvelope(compression,readMaxBytes){
return function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,e_9,_b,_c;try{for(var _d=!0,iterable_9=__asyncValues(
iterable),iterable_9_1;iterable_9_1=yield __await(iterable_9.next()),_a=iterable_9_1.done,!_a;_d=!0)_c=iterable_9_1.value,
_d=!1,yield yield __await(yield __await(envelopeDecompress(_c,compression,readMaxBytes)))}catch(e_9_1){e_9={error:e_9_1}}finally{
try{!_d&&!_a&&(_b=iterable_9.return)&&(yield __await(_b.call(iterable_9)))}finally{if(e_9)throw e_9.error}}})}}function transformJoinEnvelopes(){
return function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,e_10,_b,_c;try{for(var _d=!0,iterable_10=__asyncValues(
iterable),iterable_10_1;iterable_10_1=yield __await(iterable_10.next()),_a=iterable_10_1.done,!_a;_d=!0){_c=iterable_10_1.
value,_d=!1;let{flags,data}=_c;yield yield __await(encodeEnvelope(flags,data))}}catch(e_10_1){e_10={error:e_10_1}}finally{
try{!_d&&!_a&&(_b=iterable_10.return)&&(yield __await(_b.call(iterable_10)))}finally{if(e_10)throw e_10.error}}})}}function transformSplitEnvelope(readMaxBytes){
return function(iterable){return __asyncGenerator(this,arguments,function*(){var _a,e_11,_b,_c;let buffer=createEnvelopeDecoder(
readMaxBytes);try{for(var _d=!0,iterable_11=__asyncValues(iterable),iterable_11_1;iterable_11_1=yield __await(iterable_11.
next()),_a=iterable_11_1.done,!_a;_d=!0){_c=iterable_11_1.value,_d=!1;let chunk=_c;for(let env of buffer.decode(chunk))yield yield __await(
env)}}catch(e_11_1){e_11={error:e_11_1}}finally{try{!_d&&!_a&&(_b=iterable_11.return)&&(yield __await(_b.call(iterable_11)))}finally{
if(e_11)throw e_11.error}}if(buffer.byteLength>0)throw new ConnectError("protocol error: incomplete envelope",Code.InvalidArgument)})}}
async function readAllBytes(iterable,readMaxBytes,lengthHint){var _a,e_12,_b,_c,_d,e_13,_e,_f;let[ok,hint]=parseLengthHint(
lengthHint);if(ok){hint>readMaxBytes&&assertReadMaxBytes(readMaxBytes,hint,!0);let buffer=new Uint8Array(hint),offset2=0;
try{for(var _g=!0,iterable_12=__asyncValues(iterable),iterable_12_1;iterable_12_1=await iterable_12.next(),_a=iterable_12_1.
done,!_a;_g=!0){_c=iterable_12_1.value,_g=!1;let chunk=_c;if(offset2+chunk.byteLength>hint)throw new ConnectError(`proto\
col error: promised ${hint} bytes, received ${offset2+chunk.byteLength}`,Code.InvalidArgument);buffer.set(chunk,offset2),
offset2+=chunk.byteLength}}catch(e_12_1){e_12={error:e_12_1}}finally{try{!_g&&!_a&&(_b=iterable_12.return)&&await _b.call(
iterable_12)}finally{if(e_12)throw e_12.error}}if(offset2<hint)throw new ConnectError(`protocol error: promised ${hint} \
bytes, received ${offset2}`,Code.InvalidArgument);return buffer}let chunks=[],count=0;try{for(var _h=!0,iterable_13=__asyncValues(
iterable),iterable_13_1;iterable_13_1=await iterable_13.next(),_d=iterable_13_1.done,!_d;_h=!0){_f=iterable_13_1.value,_h=
!1;let chunk=_f;count+=chunk.byteLength,assertReadMaxBytes(readMaxBytes,count),chunks.push(chunk)}}catch(e_13_1){e_13={error:e_13_1}}finally{
try{!_h&&!_d&&(_e=iterable_13.return)&&await _e.call(iterable_13)}finally{if(e_13)throw e_13.error}}let all=new Uint8Array(
count),offset=0;for(let chunk=chunks.shift();chunk;chunk=chunks.shift())all.set(chunk,offset),offset+=chunk.byteLength;return all}
function parseLengthHint(lengthHint){if(lengthHint==null)return[!1,0];let n=typeof lengthHint=="string"?parseInt(lengthHint,
10):lengthHint;return!Number.isSafeInteger(n)||n<0?[!1,n]:[!0,n]}function makeIterableAbortable(iterable){let innerCandidate=iterable[Symbol.asyncIterator]();if(innerCandidate.throw===void 0)
throw new Error("AsyncIterable does not implement throw");let inner=innerCandidate,aborted,resultPromise,it={next(){return resultPromise=
inner.next().finally(()=>{resultPromise=void 0}),resultPromise},throw(e){return inner.throw(e)}};innerCandidate.return!==
void 0&&(it=Object.assign(Object.assign({},it),{return(value){return inner.return(value)}}));let used=!1;return{abort(reason){
if(aborted)return aborted.state;let f=()=>inner.throw(reason).then(r=>r.done===!0?"completed":"caught",()=>"rethrown");return resultPromise?
(aborted={reason,state:resultPromise.then(f,f)},aborted.state):(aborted={reason,state:f()},aborted.state)},[Symbol.asyncIterator](){
if(used)throw new Error("AsyncIterable cannot be re-used");return used=!0,it}}}function createAsyncIterable(items2){return __asyncGenerator(this,arguments,function*(){yield __await(yield*__asyncDelegator(
__asyncValues(items2)))})}function createLinkedAbortController(...signals){let controller=new AbortController,sa=signals.filter(s=>s!==void 0).concat(
controller.signal);for(let signal of sa){if(signal.aborted){onAbort.apply(signal);break}signal.addEventListener("abort",
onAbort)}function onAbort(){controller.signal.aborted||controller.abort(getAbortSignalReason(this));for(let signal of sa)
signal.removeEventListener("abort",onAbort)}return controller}function createDeadlineSignal(timeoutMs){let controller=new AbortController,
listener=()=>{controller.abort(new ConnectError("the operation timed out",Code.DeadlineExceeded))},timeoutId;return timeoutMs!==
void 0&&(timeoutMs<=0?listener():timeoutId=setTimeout(listener,timeoutMs)),{signal:controller.signal,cleanup:()=>clearTimeout(
timeoutId)}}function getAbortSignalReason(signal){if(!signal.aborted)return;if(signal.reason!==void 0)return signal.reason;
let e=new Error("This operation was aborted");return e.name="AbortError",e}function createContextValues(){return{get(key){return key.id in this?this[key.id]:key.defaultValue},set(key,value){return this[key.
id]=value,this},delete(key){return delete this[key.id],this}}}var headerEncoding="Grpc-Encoding",headerAcceptEncoding="Grpc-Accept-Encoding",headerTimeout="Grpc-Timeout",headerGrpcStatus="\
Grpc-Status",headerGrpcMessage="Grpc-Message",headerGrpcDetails="Grpc-Status-Details-Bin";var headerContentType="Content-Type",headerUnaryContentLength="Content-Length",headerUnaryEncoding="Content-Encoding",headerStreamEncoding="\
Connect-Content-Encoding",headerUnaryAcceptEncoding="Accept-Encoding",headerStreamAcceptEncoding="Connect-Accept-Encodin\
g",headerTimeout2="Connect-Timeout-Ms",headerProtocolVersion="Connect-Protocol-Version",headerDate="Date",headerHost="Ho\
st",headerTrailer="Trailer",headerUserAgent="User-Agent",headerUnaryTrailerPrefix="Trailer-";var protocolHeaders=new Set([headerContentType,headerUnaryContentLength,headerUnaryEncoding,headerHost,headerUserAgent,headerTrailer,
headerDate,headerUnaryAcceptEncoding,headerUnaryTrailerPrefix,headerStreamEncoding,headerStreamAcceptEncoding,headerTimeout2,
headerProtocolVersion,headerEncoding,headerAcceptEncoding,headerTimeout,headerGrpcStatus,headerGrpcMessage,headerGrpcDetails].
map(name=>name.toLowerCase()));function mergeNonProtocolHeaders(into,from){from.forEach((value,key)=>{protocolHeaders.has(
key.toLowerCase())||into.append(key,value)})}function createMethodUrl(baseUrl,method3){return baseUrl.toString().replace(/\/?$/,`/${method3.parent.typeName}/${method3.
name}`)}function normalize(desc,message){return create(desc,message)}function normalizeIterable(desc,input){function transform(result){
return result.done===!0?result:{done:result.done,value:normalize(desc,result.value)}}return{[Symbol.asyncIterator](){let it=input[Symbol.
asyncIterator](),res={next:()=>it.next().then(transform)};return it.throw!==void 0&&(res.throw=e=>it.throw(e).then(transform)),
it.return!==void 0&&(res.return=v=>it.return(v).then(transform)),res}}}function applyInterceptors(next,interceptors){if(!interceptors)return next;for(let i of interceptors.concat().reverse())
next=i(next);return next}function getJsonOptions(options){var _a;let o=Object.assign({},options);return(_a=o.ignoreUnknownFields)!==null&&_a!==void 0||
(o.ignoreUnknownFields=!0),o}function createMethodSerializationLookup(method3,binaryOptions,jsonOptions,limitOptions){let inputBinary=limitSerialization(
createBinarySerialization(method3.input,binaryOptions),limitOptions),inputJson=limitSerialization(createJsonSerialization(
method3.input,jsonOptions),limitOptions),outputBinary=limitSerialization(createBinarySerialization(method3.output,binaryOptions),
limitOptions),outputJson=limitSerialization(createJsonSerialization(method3.output,jsonOptions),limitOptions);return{getI(useBinaryFormat){
return useBinaryFormat?inputBinary:inputJson},getO(useBinaryFormat){return useBinaryFormat?outputBinary:outputJson}}}function limitSerialization(serialization,limitOptions){return{serialize(data){let bytes=serialization.serialize(data);return assertWriteMaxBytes(
limitOptions.writeMaxBytes,bytes.byteLength),bytes},parse(data){return assertReadMaxBytes(limitOptions.readMaxBytes,data.
byteLength,!0),serialization.parse(data)}}}function createBinarySerialization(desc,options){return{parse(data){try{return fromBinary(
desc,data,options)}catch(e){let m=e instanceof Error?e.message:String(e);throw new ConnectError(`parse binary: ${m}`,Code.
Internal)}},serialize(data){try{return toBinary(desc,data,options)}catch(e){let m=e instanceof Error?e.message:String(e);
throw new ConnectError(`serialize binary: ${m}`,Code.Internal)}}}}function createJsonSerialization(desc,options){var _a,
_b;let textEncoder=(_a=options?.textEncoder)!==null&&_a!==void 0?_a:new TextEncoder,textDecoder=(_b=options?.textDecoder)!==
null&&_b!==void 0?_b:new TextDecoder,o=getJsonOptions(options);return{parse(data){try{let json2=textDecoder.decode(data);
return fromJsonString(desc,json2,o)}catch(e){throw ConnectError.from(e,Code.InvalidArgument)}},serialize(data){try{let json2=toJsonString(
desc,data,o);return textEncoder.encode(json2)}catch(e){throw ConnectError.from(e,Code.Internal)}}}}var contentTypeRegExp=/^application\/(connect\+)?(?:(json)(?:; ?charset=utf-?8)?|(proto))$/i;var contentTypeUnaryProto="application/proto",contentTypeUnaryJson="application/json",contentTypeStreamProto="applicatio\
n/connect+proto",contentTypeStreamJson="application/connect+json";function parseContentType(contentType){let match=contentType?.match(contentTypeRegExp);if(!match)return;let stream=!!match[1],
binary=!!match[3];return{stream,binary}}var __rest=function(s,e){var t={};for(var p in s)Object.prototype.hasOwnProperty.call(s,p)&&e.indexOf(p)<0&&(t[p]=s[p]);
if(s!=null&&typeof Object.getOwnPropertySymbols=="function")for(var i=0,p=Object.getOwnPropertySymbols(s);i<p.length;i++)
e.indexOf(p[i])<0&&Object.prototype.propertyIsEnumerable.call(s,p[i])&&(t[p[i]]=s[p[i]]);return t};function errorFromJson(jsonValue,metadata,fallback){
var _a;if(metadata&&new Headers(metadata).forEach((value,key)=>fallback.metadata.append(key,value)),typeof jsonValue!="o\
bject"||jsonValue==null||Array.isArray(jsonValue))throw fallback;let code2=fallback.code;"code"in jsonValue&&typeof jsonValue.
code=="string"&&(code2=(_a=codeFromString(jsonValue.code))!==null&&_a!==void 0?_a:code2);let message=jsonValue.message;if(message!=
null&&typeof message!="string")throw fallback;let error2=new ConnectError(message??"",code2,metadata);if(error2.isWireError=
!0,"details"in jsonValue&&Array.isArray(jsonValue.details))for(let detail of jsonValue.details){if(detail===null||typeof detail!=
"object"||Array.isArray(detail)||typeof detail.type!="string"||typeof detail.value!="string")throw fallback;try{error2.details.
push({type:detail.type,value:base64Decode(detail.value),debug:detail.debug})}catch{throw fallback}}return error2}function errorFromJsonBytes(bytes,metadata,fallback){
let jsonValue;try{jsonValue=JSON.parse(new TextDecoder().decode(bytes))}catch{throw fallback}return errorFromJson(jsonValue,
metadata,fallback)}function errorToJson(error2,jsonWriteOptions){let o={code:codeToString(error2.code)};return error2.rawMessage.
length>0&&(o.message=error2.rawMessage),error2.details.length>0&&(o.details=error2.details.map(detail=>{if("desc"in detail){
let msg=create(detail.desc,detail.value),i={type:detail.desc.typeName,value:toBinary(detail.desc,msg)};try{i.debug=toJson(
detail.desc,msg,jsonWriteOptions)}catch{}return i}return detail}).map(_a=>{var{value}=_a,rest=__rest(_a,["value"]);return Object.
assign(Object.assign({},rest),{value:base64Encode(value,"std_raw")})})),o}var endStreamFlag=2;function endStreamFromJson(data){let parseErr=new ConnectError("invalid end stream",Code.Unknown),jsonValue;
try{jsonValue=JSON.parse(typeof data=="string"?data:new TextDecoder().decode(data))}catch{throw parseErr}if(typeof jsonValue!=
"object"||jsonValue==null||Array.isArray(jsonValue))throw parseErr;let metadata=new Headers;if("metadata"in jsonValue){if(typeof jsonValue.
metadata!="object"||jsonValue.metadata==null||Array.isArray(jsonValue.metadata))throw parseErr;for(let[key,values]of Object.
entries(jsonValue.metadata)){if(!Array.isArray(values)||values.some(value=>typeof value!="string"))throw parseErr;for(let value of values)
metadata.append(key,value)}}let error2="error"in jsonValue&&jsonValue.error!=null?errorFromJson(jsonValue.error,metadata,
parseErr):void 0;return{metadata,error:error2}}function endStreamToJson(metadata,error2,jsonWriteOptions){let es={};error2!==
void 0&&(es.error=errorToJson(error2,jsonWriteOptions),error2.isWireError||mergeNonProtocolHeaders(metadata,error2.metadata));
let hasMetadata=!1,md={};return metadata.forEach((value,key)=>{hasMetadata=!0,md[key]=[value]}),hasMetadata&&(es.metadata=
md),es}function createEndStreamSerialization(options){let textEncoder=new TextEncoder;return{serialize(data){try{let jsonObject=endStreamToJson(
data.metadata,data.error,options),jsonString=JSON.stringify(jsonObject);return textEncoder.encode(jsonString)}catch(e){let m=e instanceof
Error?e.message:String(e);throw new ConnectError(`failed to serialize EndStreamResponse: ${m}`,Code.Internal)}},parse(data){
try{return endStreamFromJson(data)}catch(e){let m=e instanceof Error?e.message:String(e);throw new ConnectError(`failed \
to parse EndStreamResponse: ${m}`,Code.InvalidArgument)}}}}function codeFromHttpStatus(httpStatus){switch(httpStatus){case 400:return Code.Internal;case 401:return Code.Unauthenticated;case 403:
return Code.PermissionDenied;case 404:return Code.Unimplemented;case 429:return Code.Unavailable;case 502:return Code.Unavailable;case 503:
return Code.Unavailable;case 504:return Code.Unavailable;default:return Code.Unknown}}function trailerDemux(header){let h=new Headers,t=new Headers;return header.forEach((value,key)=>{key.toLowerCase().startsWith(
"trailer-")?t.append(key.substring(8),value):h.append(key,value)}),[h,t]}var protocolVersion="1";function requestHeader(methodKind,useBinaryFormat,timeoutMs,userProvidedHeaders,setUserAgent){let result=new Headers(userProvidedHeaders??
{});return timeoutMs!==void 0&&result.set(headerTimeout2,`${timeoutMs}`),result.set(headerContentType,methodKind=="unary"?
useBinaryFormat?contentTypeUnaryProto:contentTypeUnaryJson:useBinaryFormat?contentTypeStreamProto:contentTypeStreamJson),
result.set(headerProtocolVersion,protocolVersion),!result.has(headerUserAgent)&&setUserAgent&&result.set(headerUserAgent,
"connect-es/2.2.0"),result}function requestHeaderWithCompression(methodKind,useBinaryFormat,timeoutMs,userProvidedHeaders,acceptCompression,sendCompression,setUserAgent){
let result=requestHeader(methodKind,useBinaryFormat,timeoutMs,userProvidedHeaders,setUserAgent);if(sendCompression!=null){
let name=methodKind=="unary"?headerUnaryEncoding:headerStreamEncoding;result.set(name,sendCompression.name)}if(acceptCompression.
length>0){let name=methodKind=="unary"?headerUnaryAcceptEncoding:headerStreamAcceptEncoding;result.set(name,acceptCompression.
map(c=>c.name).join(","))}return result}function validateResponse(methodKind,useBinaryFormat,status,headers){let mimeType=headers.get(headerContentType),parsedType=parseContentType(
mimeType);if(status!==200){let errorFromStatus=new ConnectError(`HTTP ${status}`,codeFromHttpStatus(status),headers);if(methodKind==
"unary"&&parsedType&&!parsedType.binary)return{isUnaryError:!0,unaryError:errorFromStatus};throw errorFromStatus}let allowedContentType={
binary:useBinaryFormat,stream:methodKind!=="unary"};if(parsedType?.binary!==allowedContentType.binary||parsedType.stream!==
allowedContentType.stream)throw new ConnectError(`unsupported content type ${mimeType}`,parsedType===void 0?Code.Unknown:
Code.Internal,headers);return{isUnaryError:!1}}function validateResponseWithCompression(methodKind,acceptCompression,useBinaryFormat,status,headers){
let compression,encoding=headers.get(methodKind=="unary"?headerUnaryEncoding:headerStreamEncoding);if(encoding!=null&&encoding.
toLowerCase()!=="identity"&&(compression=acceptCompression.find(c=>c.name===encoding),!compression))throw new ConnectError(
`unsupported response encoding "${encoding}"`,Code.Internal,headers);return Object.assign({compression},validateResponse(
methodKind,useBinaryFormat,status,headers))}var contentTypePrefix="application/";function encodeMessageForUrl(message,useBase64){return useBase64?base64Encode(message,
"url"):encodeURIComponent(new TextDecoder().decode(message))}function transformConnectPostToGetRequest(request3,message,useBase64){
let query=`?connect=v${protocolVersion}`,compressionQuery="",compression=request3.header.get(headerUnaryEncoding);compression!==
null&&compression!=="identity"&&(compressionQuery="&compression="+encodeURIComponent(compression),useBase64=!0),useBase64&&
(query+="&base64=1"),query+=compressionQuery;let contentType=request3.header.get(headerContentType);contentType?.indexOf(
contentTypePrefix)===0&&(query+="&encoding="+encodeURIComponent(contentType.slice(contentTypePrefix.length))),query+="&m\
essage="+encodeMessageForUrl(message,useBase64);let url=request3.url+query,header=new Headers(request3.header);for(let h of[
headerProtocolVersion,headerContentType,headerUnaryContentLength,headerUnaryEncoding,headerUnaryAcceptEncoding])header.delete(
h);return Object.assign(Object.assign({},request3),{requestMethod:"GET",url,header})}function runUnaryCall(opt){let next=applyInterceptors(opt.next,opt.interceptors),[signal,abort,done]=setupSignal(opt),req=Object.
assign(Object.assign({},opt.req),{message:normalize(opt.req.method.input,opt.req.message),signal});return next(req).then(
res=>(done(),res),abort)}function runStreamingCall(opt){let next=applyInterceptors(opt.next,opt.interceptors),[signal,abort,
done]=setupSignal(opt),req=Object.assign(Object.assign({},opt.req),{message:normalizeIterable(opt.req.method.input,opt.req.
message),signal}),doneCalled=!1;return signal.addEventListener("abort",function(){var _a,_b;let it=opt.req.message[Symbol.
asyncIterator]();doneCalled||(_a=it.throw)===null||_a===void 0||_a.call(it,this.reason).catch(()=>{}),(_b=it.return)===null||
_b===void 0||_b.call(it).catch(()=>{})}),next(req).then(res=>Object.assign(Object.assign({},res),{message:{[Symbol.asyncIterator](){
let it=res.message[Symbol.asyncIterator]();return{next(){return!doneCalled&&signal.aborted?abort(getAbortSignalReason(signal)):
it.next().then(r=>(r.done==!0&&(doneCalled=!0,done()),r),abort)}}}}}),abort)}function setupSignal(opt){let{signal,cleanup}=createDeadlineSignal(
opt.timeoutMs),controller=createLinkedAbortController(opt.signal,signal);return[controller.signal,function(reason){let e=controller.
signal.aborted?ConnectError.from(getAbortSignalReason(controller.signal),Code.Canceled):ConnectError.from(reason);return controller.
abort(e),cleanup(),Promise.reject(e)},function(){cleanup(),controller.abort()}]}var __asyncValues2=function(o){if(!Symbol.asyncIterator)throw new TypeError("Symbol.asyncIterator is not defined.");var m=o[Symbol.
asyncIterator],i;return m?m.call(o):(o=typeof __values=="function"?__values(o):o[Symbol.iterator](),i={},verb("next"),verb(
"throw"),verb("return"),i[Symbol.asyncIterator]=function(){return this},i);function verb(n){i[n]=o[n]&&function(v){return new Promise(
function(resolve,reject){v=o[n](v),settle(resolve,reject,v.done,v.value)})}}function settle(resolve,reject,d,v){Promise.
resolve(v).then(function(v2){resolve({value:v2,done:d})},reject)}},__await2=function(v){return this instanceof __await2?
(this.v=v,this):new __await2(v)},__asyncGenerator2=function(thisArg,_arguments,generator){if(!Symbol.asyncIterator)throw new TypeError(
"Symbol.asyncIterator is not defined.");var g=generator.apply(thisArg,_arguments||[]),i,q=[];return i=Object.create((typeof AsyncIterator==
"function"?AsyncIterator:Object).prototype),verb("next"),verb("throw"),verb("return",awaitReturn),i[Symbol.asyncIterator]=
function(){return this},i;function awaitReturn(f){return function(v){return Promise.resolve(v).then(f,reject)}}function verb(n,f){
g[n]&&(i[n]=function(v){return new Promise(function(a,b){q.push([n,v,a,b])>1||resume(n,v)})},f&&(i[n]=f(i[n])))}function resume(n,v){
try{step(g[n](v))}catch(e){settle(q[0][3],e)}}function step(r){r.value instanceof __await2?Promise.resolve(r.value.v).then(
fulfill,reject):settle(q[0][2],r)}function fulfill(value){resume("next",value)}function reject(value){resume("throw",value)}
function settle(f,v){f(v),q.shift(),q.length&&resume(q[0][0],q[0][1])}};function createTransport(opt){return{async unary(method3,signal,timeoutMs,header,message,contextValues){
let serialization=createMethodSerializationLookup(method3,opt.binaryOptions,opt.jsonOptions,opt);return timeoutMs=timeoutMs===
void 0?opt.defaultTimeoutMs:timeoutMs<=0?void 0:timeoutMs,await runUnaryCall({interceptors:opt.interceptors,signal,timeoutMs,
req:{stream:!1,service:method3.parent,method:method3,requestMethod:"POST",url:createMethodUrl(opt.baseUrl,method3),header:requestHeaderWithCompression(
method3.methodKind,opt.useBinaryFormat,timeoutMs,header,opt.acceptCompression,opt.sendCompression,!0),contextValues:contextValues??
createContextValues(),message},next:async req=>{let requestBody=serialization.getI(opt.useBinaryFormat).serialize(req.message);
opt.sendCompression&&requestBody.byteLength>opt.compressMinBytes?(requestBody=await opt.sendCompression.compress(requestBody),
req.header.set(headerUnaryEncoding,opt.sendCompression.name)):req.header.delete(headerUnaryEncoding);let useGet=opt.useHttpGet===
!0&&method3.idempotency===MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,body;useGet?req=transformConnectPostToGetRequest(
req,requestBody,opt.useBinaryFormat):body=createAsyncIterable([requestBody]);let universalResponse=await opt.httpClient(
{url:req.url,method:req.requestMethod,header:req.header,signal:req.signal,body}),{compression,isUnaryError,unaryError}=validateResponseWithCompression(
method3.methodKind,opt.acceptCompression,opt.useBinaryFormat,universalResponse.status,universalResponse.header),[header2,
trailer]=trailerDemux(universalResponse.header),responseBody=await pipeTo(universalResponse.body,sinkAllBytes(opt.readMaxBytes,
universalResponse.header.get(headerUnaryContentLength)),{propagateDownStreamError:!1});if(compression&&(responseBody=await compression.
decompress(responseBody,opt.readMaxBytes)),isUnaryError)throw errorFromJsonBytes(responseBody,appendHeaders(header2,trailer),
unaryError);return{stream:!1,service:method3.parent,method:method3,header:header2,message:serialization.getO(opt.useBinaryFormat).
parse(responseBody),trailer}}})},async stream(method3,signal,timeoutMs,header,input,contextValues){let serialization=createMethodSerializationLookup(
method3,opt.binaryOptions,opt.jsonOptions,opt),endStreamSerialization=createEndStreamSerialization(opt.jsonOptions);return timeoutMs=
timeoutMs===void 0?opt.defaultTimeoutMs:timeoutMs<=0?void 0:timeoutMs,runStreamingCall({interceptors:opt.interceptors,signal,
timeoutMs,req:{stream:!0,service:method3.parent,method:method3,requestMethod:"POST",url:createMethodUrl(opt.baseUrl,method3),
header:requestHeaderWithCompression(method3.methodKind,opt.useBinaryFormat,timeoutMs,header,opt.acceptCompression,opt.sendCompression,
!0),contextValues:contextValues??createContextValues(),message:input},next:async req=>{let uRes=await opt.httpClient({url:req.
url,method:"POST",header:req.header,signal:req.signal,body:pipe(req.message,transformSerializeEnvelope(serialization.getI(
opt.useBinaryFormat)),transformCompressEnvelope(opt.sendCompression,opt.compressMinBytes),transformJoinEnvelopes(),{propagateDownStreamError:!0})}),
{compression}=validateResponseWithCompression(method3.methodKind,opt.acceptCompression,opt.useBinaryFormat,uRes.status,uRes.
header),res=Object.assign(Object.assign({},req),{header:uRes.header,trailer:new Headers,message:pipe(uRes.body,transformSplitEnvelope(
opt.readMaxBytes),transformDecompressEnvelope(compression??null,opt.readMaxBytes),transformParseEnvelope(serialization.getO(
opt.useBinaryFormat),endStreamFlag,endStreamSerialization),function(iterable){return __asyncGenerator2(this,arguments,function*(){
var _a,e_1,_b,_c;let endStreamReceived=!1;try{for(var _d=!0,iterable_1=__asyncValues2(iterable),iterable_1_1;iterable_1_1=
yield __await2(iterable_1.next()),_a=iterable_1_1.done,!_a;_d=!0){_c=iterable_1_1.value,_d=!1;let chunk=_c;if(chunk.end){
if(endStreamReceived)throw new ConnectError("protocol error: received extra EndStreamResponse",Code.InvalidArgument);if(endStreamReceived=
!0,chunk.value.error){let error2=chunk.value.error;throw uRes.header.forEach((value,key)=>{error2.metadata.append(key,value)}),
error2}chunk.value.metadata.forEach((value,key)=>res.trailer.set(key,value));continue}if(endStreamReceived)throw new ConnectError(
"protocol error: received extra message after EndStreamResponse",Code.InvalidArgument);yield yield __await2(chunk.value)}}catch(e_1_1){
e_1={error:e_1_1}}finally{try{!_d&&!_a&&(_b=iterable_1.return)&&(yield __await2(_b.call(iterable_1)))}finally{if(e_1)throw e_1.
error}}if(!endStreamReceived)throw new ConnectError("protocol error: missing EndStreamResponse",Code.InvalidArgument)})},
{propagateDownStreamError:!0})});return res}})}}}var file_svc_options_v1_error=fileDesc("ChpzdmMvb3B0aW9ucy92MS9lcnJvci5wcm90bxIOc3ZjLm9wdGlvbnMudjEihwEKCUVycm9ySW5mbxIO\
CgZyZWFzb24YASABKAkSOQoIbWV0YWRhdGEYAiADKAsyJy5zdmMub3B0aW9ucy52MS5FcnJvckluZm8uTWV0YWRhdGFFbnRyeRovCg1NZXRhZGF0YUVudHJ5\
EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFiBnByb3RvMw"),ErrorInfoSchema=messageDesc(file_svc_options_v1_error,0);var DEFAULT_RETRIES={triesMax:4,retryAfterMsMax:3e4},BACK_OFF_MS_MAX=3e4;function retryWaitMs(error2,tries,rule){if(error2 instanceof
ConnectError&&isWorthIt(error2,rule))return waitMsOf(error2.metadata.get("retry-after"),tries,rule)}function waitMsOf(retryAfter,tries,rule){
if(tries>=rule.triesMax)return;let requested=retryAfter===null?void 0:retryAfterMs(retryAfter);if(requested)return requested<=
rule.retryAfterMsMax?requested:void 0;let backOffMs=Math.min(2**(tries-1)*500,BACK_OFF_MS_MAX);return rule.random?backOffMs*
(1+fraction(rule.random)/5):backOffMs}function retryAfterMs(header){return/^\d{1,9}$/.test(header)?Number(header)*1e3:void 0}
function reasonOf(error2){if(error2 instanceof ConnectError)return error2.findDetails(ErrorInfoSchema)[0]?.reason}function isWorthIt(error2,{waitsForAbsent}){return isUntrusted(error2)?!1:isUnreached(error2)?waitsForAbsent:error2.code===
Code.ResourceExhausted&&error2.metadata.has("retry-after")||error2.code===Code.Unavailable||reasonOf(error2)==="IN_PROGR\
ESS"||isWithoutAnswer(error2)}function isRepeatable(method3,message){if(method3.methodKind!=="unary")return!1;if(!getOption(
method3,policy).mutation)return!0;let hasId=field=>field in message&&message[field]!=="";return hasId("requestId")||hasId(
"batchId")}function isWithoutAnswer(error2){return reasonOf(error2)!==void 0?!1:networkCodeOf(error2)!==void 0?!0:error2.
code===Code.DeadlineExceeded||error2.code===Code.Unavailable}var UNREACHED=["ECONNREFUSED","ENOTFOUND","EAI_AGAIN","EHOS\
TUNREACH","ENETUNREACH"];function isUnreached(error2){return UNREACHED.includes(networkCodeOf(error2)??"")}var UNKNOWN_AUTHORITY=[
"UNABLE_TO_VERIFY_LEAF_SIGNATURE","UNABLE_TO_GET_ISSUER_CERT_LOCALLY","UNABLE_TO_GET_ISSUER_CERT","SELF_SIGNED_CERT_IN_C\
HAIN","DEPTH_ZERO_SELF_SIGNED_CERT"],BAD_CERTIFICATE=["CERT_HAS_EXPIRED","CERT_NOT_YET_VALID","ERR_TLS_CERT_ALTNAME_INVA\
LID"];function isUntrusted(error2){return certificateProblem(networkCodeOf(error2))!==void 0}function certificateProblem(code2){
if(code2!==void 0){if(BAD_CERTIFICATE.includes(code2))return`its certificate is not valid (${code2})`;if(UNKNOWN_AUTHORITY.
includes(code2))return`the authority of its certificate is not known here (${code2}). Name the authority's file in NODE_\
EXTRA_CA_CERTS`}}function networkCodeOf(error2){for(let cause=error2.cause;cause instanceof Error;cause=cause.cause)if("\
code"in cause&&typeof cause.code=="string")return cause.code}function closestName(given,known){let best;for(let name of known){let distance=editDistance(given,name);distance<(best?.
distance??Number.POSITIVE_INFINITY)&&(best={name,distance})}return best&&best.distance<=Math.ceil(given.length/3)?best.name:
void 0}function editDistance(a,b){let previous=Array.from({length:b.length+1},(_,j)=>j);for(let i=1;i<=a.length;i++){let row=[
i];for(let j=1;j<=b.length;j++){let replaced=(previous[j-1]??0)+(a[i-1]===b[j-1]?0:1);row.push(Math.min(replaced,(previous[j]??
0)+1,(row[j-1]??0)+1))}previous=row}return previous[b.length]??0}var import_node_net2=require("node:net"),import_ipaddr=__toESM(require_ipaddr(),1);var COPIES=[1,3,5];var BadSetting=class extends Error{phrase;constructor(phrase){let asFunction=typeof phrase=="string"?()=>phrase:phrase;super(
asFunction(()=>HIDDEN_PART)),this.name="BadSetting",this.phrase=asFunction}},HIDDEN_PART="a part that is not shown";var copies={takes:`one of ${COPIES.join(", ")}`,parse:text2=>{let found=COPIES.find(one=>String(one)===text2);if(found===
void 0)throw new BadSetting("is not");return found}};var label={takes:"up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit",parse:text2=>{
if(!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(text2))throw new BadSetting("is not");return text2}},labels={takes:`a comma\
-separated list of names, each ${label.takes}`,parse:text2=>[...new Set(items(text2).map(label.parse))]},listenAddress={
takes:"an address and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8443",parse:text2=>{let match=/^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.
exec(text2);if(!match)throw new BadSetting("is not");let port=Number(match[3]);if(port>65535)throw new BadSetting("has a\
 port above 65535");let isShort=match[2]===""||match[2]==="localhost",host=match[1]??(isShort?"127.0.0.1":match[2]??"");
if((0,import_node_net2.isIP)(host)===0)throw new BadSetting("names a host: give the address of one of this machine’s int\
erfaces");if(match[1]!==void 0&&(0,import_node_net2.isIP)(host)!==6)throw new BadSetting("has no IPv6 address in []");return{
host,port}}},listenAddressOrOff={takes:`${listenAddress.takes}, or off`,parse:text2=>text2==="off"||text2==="0"?null:listenAddress.
parse(text2)},origin={takes:"an http or https address without a path, such as https://monitoring.example.com",parse:text2=>{
let url=parseUrl(text2);if(url.protocol!=="https:"&&url.protocol!=="http:")throw new BadSetting("is not");let rest=url.pathname.
replace(/\/$/,"")+url.search+url.hash;if(rest!=="")throw new BadSetting(quote=>`has more than scheme, host and port (${quote(
rest)})`);if(url.username||url.password)throw new BadSetting("carries a user name or password");return url.origin}};function items(list){let found=list.split(",").map(item=>item.trim());if(found.includes(""))throw new BadSetting("has an\
 empty item between commas");return found}function parseUrl(given){if(!URL.canParse(given))throw new BadSetting("is not");
return new URL(given)}var LOOPBACK=/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;function isConfidential({protocol,hostname}){return protocol==="h\
ttps:"||protocol==="http:"&&LOOPBACK.test(hostname)}var errorCatalogue={INVALID_FIELD:{code:Code.InvalidArgument,explanation:"A field is missing or its value is not allowed\
; `field` names it"},TOO_MANY_POINTS:{code:Code.InvalidArgument,explanation:"The query exceeds 10,000 points per series,\
 or the preview 10,000,000 samples. Use a larger step or a shorter range"},EXPRESSION_TOO_LONG:{code:Code.InvalidArgument,
explanation:"The expression is longer than 16 KiB"},RESPONSE_TOO_LARGE:{code:Code.InvalidArgument,explanation:"The respo\
nse would exceed 4 MiB. Request less"},REQUEST_TOO_LARGE:{code:Code.InvalidArgument,explanation:"The request body is too\
 large. The limit is 64 KiB; for WriteSamples 1 MiB; for other methods with a list in the request 256 KiB; for methods w\
ithout a credential 24 KiB. Decompressed bytes count too"},UNKNOWN_METRIC:{code:Code.InvalidArgument,explanation:"There \
is no metric with that id. List them with ListMetricDescriptors"},REQUEST_ID_REUSED:{code:Code.InvalidArgument,explanation:"\
The request id was already used with another body. Resend the exact request, or generate a new id"},MISSING_CREDENTIAL:{
code:Code.Unauthenticated,explanation:"The request has no Authorization header with a bearer credential"},MALFORMED_CREDENTIAL:{
code:Code.Unauthenticated,explanation:"The credential is not one of this service; check that it was copied completely"},
CREDENTIAL_EXPIRED:{code:Code.Unauthenticated,explanation:"The credential, session or link has expired; get a new one"},
CREDENTIAL_REVOKED:{code:Code.Unauthenticated,explanation:"The key was revoked or replaced, the session was ended, or th\
e one-time link was used (`cause`); get a new one"},TOKEN_EPOCH:{code:Code.Unauthenticated,explanation:"The CI connectio\
n was changed or disabled after the token was issued; exchange again"},BAD_ASSERTION:{code:Code.Unauthenticated,explanation:"\
The CI identity token is not valid; `cause` says why. The response never repeats the token"},PROJECT_BOUNDARY:{code:Code.
PermissionDenied,explanation:"The credential belongs to another project, or the person is not a member of this one. The \
response is the same whether or not the resource exists"},MISSING_CAPABILITY:{code:Code.PermissionDenied,explanation:"Th\
e caller lacks a permission. `capability` names the capability that the credential, or the owner of a new key, lacks; `r\
ole` names the role that is too low"},IDENTITY_DISABLED:{code:Code.PermissionDenied,explanation:"The identity behind the\
 credential is disabled"},GRANT_REMOVED:{code:Code.PermissionDenied,explanation:"The identity's grant was removed"},NETWORK_NOT_ALLOWED:{
code:Code.PermissionDenied,explanation:"The key is bound to networks, and the request came from an address outside them.\
 Use the key from there, or create one for the network of this client"},HUMAN_OPERATION:{code:Code.PermissionDenied,explanation:"\
Only signed-in people may do this; no credential can"},SIGN_IN_TOO_OLD:{code:Code.PermissionDenied,explanation:"Making i\
nvitations, owners, keys, CI trusts and sessions of command lines needs a sign-in of the last 15 minutes (SVC_RECENT_SIG\
N_IN_MINUTES). Sign in again, then send the same request"},INSECURE_TRANSPORT:{code:Code.PermissionDenied,explanation:"T\
he request arrived over plain http and bypassed the proxy that terminates TLS. Use the https address"},WRONG_HOST:{code:Code.
FailedPrecondition,status:421,explanation:"The Host header does not name this service (SVC_PUBLIC_URL, SVC_ALLOWED_HOSTS\
), or it is missing, repeated or malformed (then 400). The request itself may be fine. Resend it with the right host nam\
e"},EXCHANGE_DENIED:{code:Code.PermissionDenied,explanation:"The CI identity is not the approved one, or may not act now\
. `cause` says why, `claims` lists the differences as JSON, and `correlation` finds the refusal in the audit log"},NOT_FOUND:{
code:Code.NotFound,explanation:"The caller's project has no resource with that name"},STALE_VERSION:{code:Code.Aborted,explanation:"\
The edit is based on an older version; `currentVersion` is the latest"},IN_PROGRESS:{code:Code.Aborted,explanation:"An e\
arlier change is still being completed, such as ending the tokens of a disabled account. Send the same request again a l\
ittle later"},LIMIT_EXCEEDED:{code:Code.FailedPrecondition,explanation:"The project, or one owner in it, has reached a l\
imit; `limit` is its value"},INVALID_STATE:{code:Code.FailedPrecondition,explanation:"The resource is in a state that do\
es not allow this"},RECIPIENT_NOT_MEMBER:{code:Code.FailedPrecondition,explanation:"Mail is sent only to verified addres\
ses of members; `addresses` lists the others"},TOO_MANY_REQUESTS:{code:Code.ResourceExhausted,explanation:"Too many requ\
ests. Back off and honour Retry-After"},QUERY_TIMEOUT:{code:Code.DeadlineExceeded,explanation:"The query took longer tha\
n 10 seconds. Request less. Never read this as zero"},NOT_READY:{code:Code.Unavailable,explanation:"A part of the servic\
e is not responding. The same request can be sent again"},UNKNOWN_PATH:{code:Code.Unimplemented,status:404,explanation:"\
There is nothing at that path, or the service is older than its client and lacks the method"},METHOD_NOT_ALLOWED:{code:Code.
Unimplemented,status:405,explanation:"The path does not accept this HTTP method; the Allow header lists those it accepts"},
UNSUPPORTED_MEDIA_TYPE:{code:Code.InvalidArgument,status:415,explanation:"The path does not accept this Content-Type; th\
e message names those it accepts"},INTERNAL:{code:Code.Internal,explanation:"The service failed. Its log has the cause, \
under the request id if the message names one"}};var HTTP_STATUS={[Code.InvalidArgument]:400,[Code.FailedPrecondition]:400,[Code.Unauthenticated]:401,[Code.PermissionDenied]:403,
[Code.NotFound]:404,[Code.Aborted]:409,[Code.ResourceExhausted]:429,[Code.Unavailable]:503,[Code.DeadlineExceeded]:504};var EXIT_DENIED=3,EXIT_NOT_FOUND=4,EXIT_UNCERTAIN=5,Fault=class extends Error{exitCode;hint;reason;constructor(message,{
exitCode=1,hint,reason}={}){super(message),this.reason=reason??"CLIENT",this.name="Fault",this.exitCode=exitCode,this.hint=
hint}},UsageError=class extends Fault{constructor(message,hint){super(message,{exitCode:2,hint}),this.name="UsageError"}},
NoAnswer=class extends Fault{constructor(message,hint){super(message,{exitCode:EXIT_UNCERTAIN,hint}),this.name="NoAnswer"}},
EXIT_OF={[Code.Unauthenticated]:EXIT_DENIED,[Code.PermissionDenied]:EXIT_DENIED,[Code.NotFound]:EXIT_NOT_FOUND},HINTS={MISSING_CREDENTIAL:'\
Sign in with "svc login", or set SVC_API_KEY to a key',CREDENTIAL_EXPIRED:'Sign in again with "svc login", or use a new \
key',CREDENTIAL_REVOKED:'Sign in again with "svc login", or use the successor of the key',PROJECT_BOUNDARY:'A key works \
only in its own project. "svc projects list" shows the projects that you are a member of',HUMAN_OPERATION:'Keys cannot d\
o this. Sign in with "svc login" and run it again',SIGN_IN_TOO_OLD:'Run "svc login", then this command again',TOO_MANY_REQUESTS:"\
Try again later, or allow more time with --timeout",STALE_VERSION:"Another user changed it in the meantime. Check it, an\
d run the command again",UNKNOWN_PATH:"The service is older than this command and does not have this method"};function refusalOf(error2,hints={}){
if(!(error2 instanceof ConnectError))return;let[info]=error2.findDetails(ErrorInfoSchema),reason=info?.reason??snakeCase(
Code[error2.code]??"unknown"),metadata={...info?.metadata,...retryAfterOf(error2)};return{reason,metadata,message:error2.
rawMessage,hint:hints[reason]??hintFrom(reason,metadata)??HINTS[reason]??explanationOf(reason),exitCode:EXIT_OF[error2.code]??
1}}function hintFrom(reason,{role,capability,correlation,metricId,known}){if(reason==="UNKNOWN_METRIC"){let closest=closestName(
metricId??"",known?.split(", ")??[]);return closest&&`Did you mean ${JSON.stringify(closest)}?`}if(reason==="EXCHANGE_DE\
NIED"&&correlation)return`An owner of the project can look up this refusal: svc audit list --correlation ${correlation}`;
if(reason==="MISSING_CAPABILITY"){if(role)return"An owner of the project can give you another role: svc members role";if(capability)
return`A key is limited to the permissions it was created with and those of its owner. Missing here: ${capability}`}}function explanationOf(reason){
return Object.entries(errorCatalogue).find(([known])=>known===reason)?.[1].explanation}function retryAfterOf(error2){let retryAfterSeconds=error2.
metadata.get("retry-after");return retryAfterSeconds===null?{}:{retryAfterSeconds}}function describeFault(error2,{command,
json:json2,hints,fieldHint}){let refusal=refusalOf(error2,hints),fault=refusal??(error2 instanceof Fault?error2:void 0);
if(!fault)return;let{exitCode}=fault,field=refusal?.reason==="INVALID_FIELD"?refusal.metadata.field:void 0,hint=field&&fieldHint?.(
field)||fault.hint,message=refusal?.message??error2.message;if(json2){let{reason:reason2,metadata}=refusal??{reason:error2.
reason,metadata:{}};return{exitCode,text:`${JSON.stringify({error:{reason:reason2,message,metadata,hint}})}
`}}let{reason}=refusal??error2,named=reason==="CLIENT"?"":`${reason}: `,said=error2 instanceof UsageError?printableLines(
message):printable(message),head=`svc ${command}: ${named}${said}`,facts2=Object.entries(refusal?.metadata??{}).filter(([
name])=>name!=="claims").map(([name,value])=>`  ${name}: ${printable(value)}`),advice=hint?hint.split(`
`).map(line=>`  ${line}`):[];return{exitCode,text:`${[head,...facts2,...advice].join(`
`)}
`}}var CONTROL=/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;function printable(text2){return text2.replaceAll(CONTROL,"�")}
function printableLines(text2){return text2.split(`
`).map(printable).join(`
  `)}function snakeCase(name){return name.replace(/([a-z])([A-Z])/g,"$1_$2").toLowerCase()}var import_node_fs2=require("node:fs"),import_node_path2=require("node:path");var import_node_fs=require("node:fs");var import_node_path=require("node:path");function writeFileDurably({path,content,exclusive}){let beside=`${path}.${process.
pid}.tmp`;(0,import_node_fs.rmSync)(beside,{force:!0});let file=(0,import_node_fs.openSync)(beside,"wx",384);try{(0,import_node_fs.writeSync)(
file,content),(0,import_node_fs.fsyncSync)(file)}finally{(0,import_node_fs.closeSync)(file)}try{exclusive?(0,import_node_fs.linkSync)(
beside,path):(0,import_node_fs.renameSync)(beside,path)}finally{(0,import_node_fs.rmSync)(beside,{force:!0})}syncFolder(
(0,import_node_path.dirname)(path))}function syncFolder(folder){let descriptor=(0,import_node_fs.openSync)(folder,"r");try{
(0,import_node_fs.fsyncSync)(descriptor)}finally{(0,import_node_fs.closeSync)(descriptor)}}function sessionPath(environment,homeFolder){let given=environment.XDG_CONFIG_HOME,base=given?.startsWith("/")?given:(0,import_node_path2.join)(
homeFolder,".config");return(0,import_node_path2.join)(base,"svc","session.json")}function readSession(path){let problem=protectionProblem(
path);if(problem==="missing")return;if(problem!==void 0)throw new Fault(`The session in ${path} cannot be used: ${problem}`,
{hint:`Sign in again: rm ${path}; svc login`});let parsed=parse2((0,import_node_fs2.readFileSync)(path,"utf8"));if(parsed)
return parsed;throw new Fault(`${path} is not a valid session file`,{hint:`Sign in again: rm ${path}; svc login`})}function writeSession(path,session){
(0,import_node_fs2.mkdirSync)((0,import_node_path2.dirname)(path),{recursive:!0,mode:448}),(0,import_node_fs2.chmodSync)(
(0,import_node_path2.dirname)(path),448);let content=`${JSON.stringify(session,null,2)}
`;writeFileDurably({path,content,exclusive:!1})}function protectionProblem(path){let file=(0,import_node_fs2.lstatSync)(path,{throwIfNoEntry:!1});if(!file)return"missin\
g";let folder=(0,import_node_fs2.lstatSync)((0,import_node_path2.dirname)(path));if(!file.isFile())return"it is not a re\
gular file";if(file.mode&63)return`other users can read it (mode ${octal(file.mode)}, not 0600)`;if(folder.mode&18)return`\
other users can write to its folder (mode ${octal(folder.mode)})`;let user=process.getuid?.();if(user!==void 0&&file.uid!==
user)return"it belongs to another user"}function octal(mode){return(mode&511).toString(8).padStart(4,"0")}function parse2(text2){
let value;try{value=JSON.parse(text2)}catch{return}if(typeof value!="object"||value===null)return;let{endpoint,cookieName,
secret,expiresUnix,person}=value;if(!(typeof endpoint!="string"||typeof cookieName!="string")&&!(typeof secret!="string"||
typeof person!="string"))return{endpoint,cookieName,secret,expiresUnix:Number(expiresUnix),person}}function openAccess(options){let{environment,ports,caller}=options,path=sessionPath(environment,ports.homeFolder),hasKey=caller===
"any"&&!!environment.SVC_API_KEY;if(caller==="nobody"||hasKey){let endpoint2=givenEndpoint(options)??readSession(path)?.
endpoint;if(endpoint2===void 0)throw notKnownWhere();let key=hasKey?{authorization:`Bearer ${checkedKey(environment)}`}:
{};return{endpoint:endpoint2,headers:()=>key,recordCookies:()=>{}}}let stored=readSession(path);if(stored===void 0)throw notSignedIn(
caller);let endpoint=givenEndpoint(options)??stored.endpoint;if(stored.endpoint!==endpoint)throw new Fault(`You are sign\
ed in at ${stored.endpoint}, not at ${endpoint}`,{exitCode:EXIT_DENIED,hint:`Sign in there: svc login --endpoint ${endpoint}`});
return sessionAccess(path,stored)}function sessionAccess(path,stored){let session=stored;return{endpoint:stored.endpoint,
headers(){let now=readSession(path);return now?.endpoint===stored.endpoint&&now.person===stored.person&&(session=now),sessionHeaders(
session)},recordCookies(setCookies){let secret=rotatedSecret(setCookies,session.cookieName);secret===void 0||secret===session.
secret||(session={...session,secret},writeSession(path,session))}}}function sessionHeaders(session){return{cookie:`${session.
cookieName}=${session.secret}`,origin:session.endpoint}}function rotatedSecret(setCookies,name){for(let cookie of setCookies){
let[pair=""]=cookie.split(";");if(pair.startsWith(`${name}=`)&&pair.length>name.length+1)return pair.slice(name.length+1)}}
function givenEndpoint({endpoint,environment}){if(endpoint)return parseEndpoint("--endpoint",endpoint);let{SVC_ENDPOINT}=environment;
return SVC_ENDPOINT?parseEndpoint("SVC_ENDPOINT",SVC_ENDPOINT):void 0}function programOrigin(address){let url=new URL(address);
return url.protocol==="http:"&&url.hostname.endsWith(".localhost")&&(url.hostname="127.0.0.1"),url.origin}function notKnownWhere(){
return new UsageError("The address of the service is not set","Set --endpoint or SVC_ENDPOINT, for example https://monit\
oring.example.com")}function parseEndpoint(what,text2){let endpoint;try{endpoint=programOrigin(origin.parse(text2))}catch(error2){
throw!(error2 instanceof BadSetting)&&!(error2 instanceof TypeError)?error2:new UsageError(`${what} must be ${origin.takes}\
, not ${JSON.stringify(redactedUrl(text2))}`)}if(isConfidential(new URL(endpoint)))return endpoint;throw new UsageError(
`${what} uses plain HTTP, so the credential could be read on the network`,"Use HTTPS. Plain HTTP is accepted only for th\
is machine")}var HEADER_SAFE=/^[\x21-\x7e]+$/;function checkedKey({SVC_API_KEY:key=""}){let isOurs=key.startsWith("svc_");
if(HEADER_SAFE.test(key)&&(!isOurs||parseKey(key)))return key;throw new Fault("SVC_API_KEY is not a valid key: its check\
sum is wrong",{exitCode:EXIT_DENIED,hint:"Check that it was copied completely, without spaces or quotes"})}function notSignedIn(caller){
return new Fault("You are not signed in",{exitCode:EXIT_DENIED,hint:caller==="person"?'Sign in with "svc login". Keys ca\
nnot do this':'Sign in with "svc login", or set SVC_API_KEY to a key'})}var zlib=__toESM(require("node:zlib"),1),import_node_util=require("node:util");function connectErrorFromNodeReason(reason){let code2=Code.Internal,chain=unwrapNodeErrorChain(reason).map(getNodeErrorProps);
chain.some(p=>p.code=="ERR_STREAM_WRITE_AFTER_END")?code2=Code.Aborted:chain.some(p=>p.code=="ERR_STREAM_DESTROYED"||p.code==
"ERR_HTTP2_INVALID_STREAM"||p.code=="ECONNRESET")?code2=Code.Aborted:chain.some(p=>p.code=="ETIMEDOUT"||p.code=="ENOTFOU\
ND"||p.code=="EAI_AGAIN"||p.code=="ECONNREFUSED")&&(code2=Code.Unavailable);let ce=ConnectError.from(reason,code2);return ce!==
reason&&(ce.cause=reason),ce}function unwrapNodeErrorChain(reason){let chain=[];for(;!(!(reason instanceof Error)||chain.
includes(reason)||(chain.push(reason),!("cause"in reason)));)reason=reason.cause;return chain}function getNodeErrorProps(reason){
let props={};return reason instanceof Error&&("code"in reason&&typeof reason.code=="string"&&(props.code=reason.code),"s\
yscall"in reason&&typeof reason.syscall=="string"&&(props.syscall=reason.syscall)),props}function connectErrorFromH2ResetCode(rstCode){
switch(rstCode){case H2Code.PROTOCOL_ERROR:case H2Code.INTERNAL_ERROR:case H2Code.FLOW_CONTROL_ERROR:case H2Code.SETTINGS_TIMEOUT:case H2Code.
FRAME_SIZE_ERROR:case H2Code.COMPRESSION_ERROR:case H2Code.CONNECT_ERROR:return new ConnectError(`http/2 stream closed w\
ith error code ${H2Code[rstCode]} (0x${rstCode.toString(16)})`,Code.Internal);case H2Code.REFUSED_STREAM:return new ConnectError(
`http/2 stream closed with error code ${H2Code[rstCode]} (0x${rstCode.toString(16)})`,Code.Unavailable);case H2Code.CANCEL:
return new ConnectError(`http/2 stream closed with error code ${H2Code[rstCode]} (0x${rstCode.toString(16)})`,Code.Canceled);case H2Code.
ENHANCE_YOUR_CALM:return new ConnectError(`http/2 stream closed with error code ${H2Code[rstCode]} (0x${rstCode.toString(
16)})`,Code.ResourceExhausted);case H2Code.INADEQUATE_SECURITY:return new ConnectError(`http/2 stream closed with error \
code ${H2Code[rstCode]} (0x${rstCode.toString(16)})`,Code.PermissionDenied);case H2Code.HTTP_1_1_REQUIRED:return new ConnectError(
`http/2 stream closed with error code ${H2Code[rstCode]} (0x${rstCode.toString(16)})`,Code.PermissionDenied);default:break}}
var H2Code;(function(H2Code2){H2Code2[H2Code2.PROTOCOL_ERROR=1]="PROTOCOL_ERROR",H2Code2[H2Code2.INTERNAL_ERROR=2]="INTE\
RNAL_ERROR",H2Code2[H2Code2.FLOW_CONTROL_ERROR=3]="FLOW_CONTROL_ERROR",H2Code2[H2Code2.SETTINGS_TIMEOUT=4]="SETTINGS_TIM\
EOUT",H2Code2[H2Code2.STREAM_CLOSED=5]="STREAM_CLOSED",H2Code2[H2Code2.FRAME_SIZE_ERROR=6]="FRAME_SIZE_ERROR",H2Code2[H2Code2.
REFUSED_STREAM=7]="REFUSED_STREAM",H2Code2[H2Code2.CANCEL=8]="CANCEL",H2Code2[H2Code2.COMPRESSION_ERROR=9]="COMPRESSION_\
ERROR",H2Code2[H2Code2.CONNECT_ERROR=10]="CONNECT_ERROR",H2Code2[H2Code2.ENHANCE_YOUR_CALM=11]="ENHANCE_YOUR_CALM",H2Code2[H2Code2.
INADEQUATE_SECURITY=12]="INADEQUATE_SECURITY",H2Code2[H2Code2.HTTP_1_1_REQUIRED=13]="HTTP_1_1_REQUIRED"})(H2Code||(H2Code=
{}));var gzip2=(0,import_node_util.promisify)(zlib.gzip),gunzip2=(0,import_node_util.promisify)(zlib.gunzip),brotliCompress2=(0,import_node_util.promisify)(
zlib.brotliCompress),brotliDecompress2=(0,import_node_util.promisify)(zlib.brotliDecompress),compressionGzip={name:"gzip",
compress(bytes){return asUint8ArrayArrayBuffer(gzip2(bytes,{}))},decompress(bytes,readMaxBytes){return bytes.length==0?Promise.
resolve(new Uint8Array(0)):asUint8ArrayArrayBuffer(wrapZLibErrors(gunzip2(bytes,{maxOutputLength:readMaxBytes}),readMaxBytes))}},
compressionBrotli={name:"br",compress(bytes){return asUint8ArrayArrayBuffer(brotliCompress2(bytes,{}))},decompress(bytes,readMaxBytes){
return bytes.length==0?Promise.resolve(new Uint8Array(0)):asUint8ArrayArrayBuffer(wrapZLibErrors(brotliDecompress2(bytes,
{maxOutputLength:readMaxBytes}),readMaxBytes))}};function asUint8ArrayArrayBuffer(bytes){return bytes.then(b=>b.buffer instanceof
ArrayBuffer?b:new Uint8Array(b))}function wrapZLibErrors(promise,readMaxBytes){return promise.catch(e=>{var _a;let props=getNodeErrorProps(
e),code2=Code.Internal,message="decompression failed";switch(props.code){case"ERR_BUFFER_TOO_LARGE":code2=Code.ResourceExhausted,
message=`message is larger than configured readMaxBytes ${readMaxBytes} after decompression`;break;case"Z_DATA_ERROR":case"\
ERR_PADDING_2":code2=Code.InvalidArgument;break;default:!((_a=props.code)===null||_a===void 0)&&_a.startsWith("ERR__ERRO\
R_FORMAT_")&&(code2=Code.InvalidArgument);break}return Promise.reject(new ConnectError(message,code2,void 0,void 0,e))})}var http=__toESM(require("node:http"),1),https=__toESM(require("node:https"),1);function nodeHeaderToWebHeader(nodeHeaders){let header=new Headers;for(let[k,v]of Object.entries(nodeHeaders))if(!k.startsWith(
":")&&v!==void 0)if(typeof v=="string")header.append(k,v);else if(typeof v=="number")header.append(k,String(v));else for(let e of v)
header.append(k,e);return header}function webHeaderToNodeHeaders(headersInit,defaultNodeHeaders){if(headersInit===void 0&&
defaultNodeHeaders===void 0)return;let o=Object.create(null);if(defaultNodeHeaders!==void 0)if(Array.isArray(defaultNodeHeaders))
for(let i=0;i+1<defaultNodeHeaders.length;i+=2){let key=defaultNodeHeaders[i],value=defaultNodeHeaders[i+1];Array.isArray(
o[key])?o[key].push(value):typeof o[key]=="string"?o[key]=[o[key],value]:o[key]=value}else for(let[key,value]of Object.entries(
defaultNodeHeaders))Array.isArray(value)?o[key]=value.concat():value!==void 0&&(o[key]=value);if(headersInit!==void 0)if(Array.
isArray(headersInit))for(let[key,value]of headersInit)appendWebHeader(o,key,value);else if("forEach"in headersInit)typeof headersInit.
forEach=="function"&&headersInit.forEach((value,key)=>{appendWebHeader(o,key,value)});else for(let[key,value]of Object.entries(
headersInit))appendWebHeader(o,key,value);return o}function appendWebHeader(o,key,value){key=key.toLowerCase();let existing=o[key];
Array.isArray(existing)?existing.push(value):existing===void 0?o[key]=value:o[key]=[existing.toString(),value]}var http2=__toESM(require("node:http2"),1);var Http2SessionManager=class{state(){return this.s.t=="ready"?this.verifying!==void 0?"verifying":this.s.streamCount()>
0?"open":"idle":this.s.t}error(){if(this.s.t=="error")return this.s.reason}constructor(url,pingOptions,http2SessionOptions){
var _a,_b,_c,_d;this.s=closed(),this.shuttingDown=[],this.authority=new URL(url).origin,this.http2SessionOptions=http2SessionOptions,
this.options={pingIntervalMs:(_a=pingOptions?.pingIntervalMs)!==null&&_a!==void 0?_a:Number.POSITIVE_INFINITY,pingTimeoutMs:(_b=
pingOptions?.pingTimeoutMs)!==null&&_b!==void 0?_b:1e3*15,pingIdleConnection:(_c=pingOptions?.pingIdleConnection)!==null&&
_c!==void 0?_c:!1,idleConnectionTimeoutMs:(_d=pingOptions?.idleConnectionTimeoutMs)!==null&&_d!==void 0?_d:1e3*60*15}}async connect(){
try{return(await this.gotoReady()).streamCount()>0?"open":"idle"}catch{return"error"}}async request(method3,path,headers,options){
for(;;){let ready2=await this.gotoReady();try{let stream=ready2.conn.request(Object.assign(Object.assign({},headers),{":\
method":method3,":path":path}),options);return ready2.registerRequest(stream),stream}catch(e){if(ready2.conn.closed||ready2.
conn.destroyed)continue;throw e}}}notifyResponseByteRead(stream){this.s.t=="ready"&&this.s.responseByteRead(stream);for(let s of this.
shuttingDown)s.responseByteRead(stream)}abort(reason){var _a,_b,_c;let err=reason??new ConnectError("connection aborted",
Code.Canceled);(_b=(_a=this.s).abort)===null||_b===void 0||_b.call(_a,err);for(let s of this.shuttingDown)(_c=s.abort)===
null||_c===void 0||_c.call(s,err);this.setState(closedOrError(err))}async gotoReady(){for(this.s.t=="ready"?this.s.isShuttingDown()||
this.s.conn.closed||this.s.conn.destroyed?this.setState(connect2(this.authority,this.http2SessionOptions)):this.s.requiresVerify()&&
await this.verify(this.s):(this.s.t=="closed"||this.s.t=="error")&&this.setState(connect2(this.authority,this.http2SessionOptions));this.
s.t!=="ready";){if(this.s.t==="error")throw this.s.reason;this.s.t==="connecting"&&await this.s.conn}return this.s}setState(state){
var _a,_b;if((_b=(_a=this.s).onExitState)===null||_b===void 0||_b.call(_a),this.s.t=="ready"&&this.s.isShuttingDown()){let sd=this.
s;this.shuttingDown.push(sd),sd.onClose=sd.onError=()=>{let i=this.shuttingDown.indexOf(sd);i!==-1&&this.shuttingDown.splice(
i,1)}}switch(state.t){case"connecting":state.conn.then(value=>{this.setState(ready(value,this.options))},reason=>{this.setState(
closedOrError(reason))});break;case"ready":state.onClose=()=>this.setState(closed()),state.onError=err=>this.setState(closedOrError(
err));break;case"closed":break;case"error":break}this.s=state}verify(stateReady){return this.verifying!==void 0?this.verifying:
(this.verifying=stateReady.verify().then(success=>{success||this.setState(connect2(this.authority,this.http2SessionOptions))},
reason=>{this.setState(closedOrError(reason))}).finally(()=>{this.verifying=void 0}),this.verifying)}};function closed(){
return{t:"closed"}}function error(reason){return{t:"error",reason}}function closedOrError(reason){return reason instanceof
ConnectError&&ConnectError.from(reason).code==Code.Canceled?closed():error(reason)}function connect2(authority,http2SessionOptions){
let resolve,reject,conn=new Promise((res,rej)=>{resolve=res,reject=rej}),newConn=http2.connect(authority,http2SessionOptions);
newConn.on("connect",onConnect),newConn.on("error",onError);function onConnect(){resolve?.(newConn),cleanup()}function onError(err){
reject?.(connectErrorFromNodeReason(err)),cleanup()}function cleanup(){newConn.off("connect",onConnect),newConn.off("err\
or",onError)}return{t:"connecting",conn,abort(reason){newConn.destroyed||newConn.destroy(void 0,http2.constants.NGHTTP2_CANCEL),
reject?.(reason)},onExitState(){cleanup()}}}function ready(conn,options){assertSessionOpen(conn),conn.unref();let lastAliveAt=Date.
now(),streamCount=0,pingIntervalId,pingTimeoutId,receivedGoAway=!1,receivedGoAwayEnhanceYourCalmTooManyPings=!1,idleTimeoutId;
resetIdleTimeout();let state={t:"ready",conn,streamCount(){return streamCount},requiresVerify(){return Date.now()-lastAliveAt>
options.pingIntervalMs},isShuttingDown(){return receivedGoAway},onClose:void 0,onError:void 0,registerRequest(stream){streamCount++,
streamCount==1&&(conn.ref(),resetPingInterval(),stopIdleTimeout()),stream.once("response",()=>{lastAliveAt=Date.now(),resetPingInterval()}),
stream.once("close",()=>{streamCount--,streamCount==0&&(conn.unref(),resetPingInterval(),resetIdleTimeout())})},responseByteRead(stream){
stream.session===conn&&(conn.closed||conn.destroyed||streamCount<=0||(lastAliveAt=Date.now(),resetPingInterval()))},verify(){
return conn.ref(),new Promise(resolve=>{let onFailure=()=>{resolve(!1)};commonPing(()=>{streamCount==0&&conn.unref(),conn.
off("error",onFailure),conn.off("close",onFailure),resolve(!0)}),conn.once("error",onFailure),conn.once("close",onFailure)})},
abort(reason){conn.destroyed||(conn.once("error",()=>{}),conn.destroy(reason,http2.constants.NGHTTP2_CANCEL))},onExitState(){
state.isShuttingDown()||(cleanup(),this.onError=void 0,this.onClose=void 0)}};function resetPingInterval(){stopPingInterval(),
(streamCount>0||options.pingIdleConnection)&&(pingIntervalId=safeSetTimeout(onPingInterval,options.pingIntervalMs))}function stopPingInterval(){
clearTimeout(pingIntervalId),clearTimeout(pingTimeoutId)}function onPingInterval(){commonPing(resetPingInterval)}function commonPing(onSuccess){
clearTimeout(pingTimeoutId),pingTimeoutId=safeSetTimeout(()=>{conn.destroy(new ConnectError("PING timed out",Code.Unavailable),
http2.constants.NGHTTP2_CANCEL)},options.pingTimeoutMs),conn.ping((err,duration)=>{if(clearTimeout(pingTimeoutId),err===
null){if(duration>options.pingTimeoutMs){conn.destroy(new ConnectError("PING timed out",Code.Unavailable),http2.constants.
NGHTTP2_CANCEL);return}lastAliveAt=Date.now(),onSuccess()}})}function stopIdleTimeout(){clearTimeout(idleTimeoutId)}function resetIdleTimeout(){
idleTimeoutId=safeSetTimeout(onIdleTimeout,options.idleConnectionTimeoutMs)}function onIdleTimeout(){conn.close(),onClose()}
function onGoaway(errorCode,lastStreamID,opaqueData){if(errorCode===http2.constants.NGHTTP2_NO_ERROR&&streamCount===0){conn.
destroy(new ConnectError("received GOAWAY without any open streams",Code.Canceled),http2.constants.NGHTTP2_NO_ERROR);return}
receivedGoAway=!0;let tooManyPingsAscii=Buffer.from("too_many_pings","ascii");opaqueData?.equals(tooManyPingsAscii)&&(options.
pingIntervalMs=options.pingIntervalMs*2,receivedGoAwayEnhanceYourCalmTooManyPings=!0)}function onClose(){var _a;cleanup(),
(_a=state.onClose)===null||_a===void 0||_a.call(state)}function onError(err){var _a,_b;if(cleanup(),receivedGoAwayEnhanceYourCalmTooManyPings){
let ce=new ConnectError(`http/2 connection closed with error code ENHANCE_YOUR_CALM (0x${http2.constants.NGHTTP2_ENHANCE_YOUR_CALM.
toString(16)}), too_many_pings, doubled the interval`,Code.ResourceExhausted);(_a=state.onError)===null||_a===void 0||_a.
call(state,ce)}else(_b=state.onError)===null||_b===void 0||_b.call(state,connectErrorFromNodeReason(err))}function cleanup(){
stopPingInterval(),stopIdleTimeout(),conn.off("error",onError),conn.off("close",onClose),conn.off("goaway",onGoaway)}return conn.
on("error",onError),conn.on("close",onClose),conn.on("goaway",onGoaway),state}function safeSetTimeout(callback,ms){if(!(ms>
2147483647))return setTimeout(callback,ms).unref()}function assertSessionOpen(conn){if(conn.connecting)throw new ConnectError(
"expected open session, but it is connecting",Code.Internal);if(conn.destroyed)throw new ConnectError("expected open ses\
sion, but it is destroyed",Code.Internal);if(conn.closed)throw new ConnectError("expected open session, but it is closed",
Code.Internal)}function createNodeHttpClient(options){var _a;if(options.httpVersion=="1.1")return createNodeHttp1Client(options.nodeOptions);
let sessionProvider=(_a=options.sessionProvider)!==null&&_a!==void 0?_a:(url=>new Http2SessionManager(url));return createNodeHttp2Client(
sessionProvider)}function createNodeHttp1Client(httpOptions){return async function(req){let sentinel=createSentinel(req.
signal);return new Promise((resolve,reject)=>{sentinel.onError(e=>{reject(e)}),h1Request(sentinel,req.url,Object.assign(
Object.assign({},httpOptions),{headers:webHeaderToNodeHeaders(req.header,httpOptions?.headers),method:req.method}),request4=>{
sinkRequest(req,request4,sentinel),request4.on("response",response=>{var _a;response.on("error",sentinel.error),sentinel.
onError(reason=>response.destroy(reason));let trailer=new Headers;resolve({status:(_a=response.statusCode)!==null&&_a!==
void 0?_a:0,header:nodeHeaderToWebHeader(response.headers),body:h1ResponseIterable(sentinel,response,trailer),trailer})})})})}}
function createNodeHttp2Client(sessionProvider){return function(req){let sentinel=createSentinel(req.signal),sessionManager=sessionProvider(
req.url);return new Promise((resolve,reject)=>{sentinel.onError(e=>{reject(e)}),h2Request(sentinel,sessionManager,req.url,
req.method,webHeaderToNodeHeaders(req.header),{},stream=>{sinkRequest(req,stream,sentinel),stream.on("response",headers=>{
var _a;let response={status:(_a=headers[":status"])!==null&&_a!==void 0?_a:0,header:nodeHeaderToWebHeader(headers),body:h2ResponseIterable(
sentinel,stream,sessionManager),trailer:h2ResponseTrailer(stream)};resolve(response)})})})}}function h1Request(sentinel,url,options,onRequest){
let request3;new URL(url).protocol.startsWith("https")?request3=https.request(url,options):request3=http.request(url,options),
sentinel.onError(reason=>request3.destroy(reason)),request3.flushHeaders(),request3.on("error",sentinel.error),request3.
on("socket",function(socket){function onSocketConnect(){socket.off("connect",onSocketConnect),onRequest(request3)}socket.
readyState==="open"?onRequest(request3):socket.on("connect",onSocketConnect)})}function h1ResponseIterable(sentinel,response,trailer){
let inner=response[Symbol.asyncIterator]();return{[Symbol.asyncIterator](){return{async next(){let r=await sentinel.race(
inner.next());return r.done===!0&&(nodeHeaderToWebHeader(response.trailers).forEach((value,key)=>{trailer.set(key,value)}),
sentinel.close()),r},throw(e){throw sentinel.error(e),e}}}}}function h2Request(sentinel,sm,url,method3,headers,options,onStream){
let requestUrl=new URL(url);if(requestUrl.origin!==sm.authority){let message=`cannot make a request to ${requestUrl.origin}\
: the http2 session is connected to ${sm.authority}`;sentinel.error(new ConnectError(message,Code.Internal));return}sm.request(
method3,requestUrl.pathname+requestUrl.search,headers,{}).then(stream=>{sentinel.onError(reason=>{if(stream.closed)return;
let rstCode=reason.code==Code.Canceled?H2Code.CANCEL:H2Code.INTERNAL_ERROR;return new Promise(resolve=>stream.close(rstCode,
resolve))}),stream.on("error",function(e){stream.writableEnded&&unwrapNodeErrorChain(e).map(getNodeErrorProps).some(p=>p.
code=="ERR_STREAM_WRITE_AFTER_END")||sentinel.error(e)}),stream.on("close",function(){let err=connectErrorFromH2ResetCode(
stream.rstCode);err&&sentinel.error(err)}),onStream(stream)},reason=>{sentinel.error(reason)})}function h2ResponseTrailer(response){
let trailer=new Headers;return response.on("trailers",args=>{nodeHeaderToWebHeader(args).forEach((value,key)=>{trailer.set(
key,value)})}),trailer}function h2ResponseIterable(sentinel,response,sm){let inner=response[Symbol.asyncIterator]();return{
[Symbol.asyncIterator](){return{async next(){let r=await sentinel.race(inner.next());return r.done===!0&&sentinel.close(),
sm?.notifyResponseByteRead(response),r},throw(e){throw sentinel.error(e),e}}}}}async function sinkRequest(request3,nodeRequest,sentinel){
if(request3.body===void 0){await new Promise(resolve=>nodeRequest.end(resolve));return}let it=request3.body[Symbol.asyncIterator]();
return new Promise(resolve=>{writeNext();function writeNext(){sentinel.isClosed()||it.next().then(r=>{if(r.done===!0){nodeRequest.
end(resolve);return}nodeRequest.write(r.value,"binary",e=>{if(e==null){writeNext();return}it.throw!==void 0&&it.throw(connectErrorFromNodeReason(
e)).catch(()=>{}),!(nodeRequest.writableEnded&&unwrapNodeErrorChain(e).map(getNodeErrorProps).some(p=>p.code=="ERR_STREA\
M_WRITE_AFTER_END"))&&sentinel.error(e)})},e=>{sentinel.error(e)})}})}function createSentinel(signal){let rejectRace,closed2=!1,
closedError,onErrorListeners=[],sentinel={error(error2){if(!closed2){closed2=!0,closedError=error2 instanceof ConnectError?
error2:connectErrorFromNodeReason(error2),rejectRace?.(closedError);for(let onRejected of onErrorListeners)onRejected(closedError);
cleanup()}},close(){closed2||(closed2=!0,rejectRace&&rejectRace(new ConnectError("sentinel completed early",Code.Internal)),
cleanup())},isClosed(){return closed2},onError(onError){closed2?closedError!==void 0&&onError(closedError):onErrorListeners.
push(onError)},race(promise){let resolveRace,race=new Promise((resolve,reject)=>{resolveRace=resolve,rejectRace=reject});
return promise.then(value=>{resolveRace?.(value)},reason=>{rejectRace?.(reason)}),closed2&&rejectRace?.(closedError??new ConnectError(
"sentinel completed early",Code.Internal)),race}};function cleanup(){signal&&signal.removeEventListener("abort",onSignalAbort),
onErrorListeners=[],rejectRace=void 0}function onSignalAbort(){sentinel.error(getAbortSignalReason(this))}return signal&&
(signal.addEventListener("abort",onSignalAbort),signal.aborted&&sentinel.error(getAbortSignalReason(signal))),sentinel}function validateNodeTransportOptions(options){var _a,_b,_c,_d;let httpClient;if(options.httpVersion=="2"){let sessionManager;
options.sessionManager?sessionManager=options.sessionManager:sessionManager=new Http2SessionManager(options.baseUrl,{pingIntervalMs:options.
pingIntervalMs,pingIdleConnection:options.pingIdleConnection,pingTimeoutMs:options.pingTimeoutMs,idleConnectionTimeoutMs:options.
idleConnectionTimeoutMs},options.nodeOptions),httpClient=createNodeHttpClient({httpVersion:"2",sessionProvider:()=>sessionManager})}else
httpClient=createNodeHttpClient({httpVersion:"1.1",nodeOptions:options.nodeOptions});return Object.assign(Object.assign(
Object.assign({},options),{httpClient,useBinaryFormat:(_a=options.useBinaryFormat)!==null&&_a!==void 0?_a:!0,interceptors:(_b=
options.interceptors)!==null&&_b!==void 0?_b:[],sendCompression:(_c=options.sendCompression)!==null&&_c!==void 0?_c:null,
acceptCompression:(_d=options.acceptCompression)!==null&&_d!==void 0?_d:[compressionGzip,compressionBrotli]}),validateReadWriteMaxBytes(
options.readMaxBytes,options.writeMaxBytes,options.compressMinBytes))}function createConnectTransport(options){return createTransport(validateNodeTransportOptions(options))}var SCHEMA_VERSION_HEADER="svc-schema-version",SCHEMA_VERSION=2;var package_default={version:"1.1.2"};var programVersion=package_default.version;var RETRIES={...DEFAULT_RETRIES,waitsForAbsent:!1},ANSWER_BYTES_MAX=16*1024*1024,Api=class{access;#options;#transport;#mayHaveChanged=!1;constructor(options){
this.access=options.access,this.#options=options,this.#transport=createConnectTransport({baseUrl:options.access.endpoint,
httpVersion:"1.1",useBinaryFormat:!1,readMaxBytes:ANSWER_BYTES_MAX})}async call(method3,request3){let message=create(method3.
input,request3),mayRepeat=isRepeatable(method3,message),isSent=!1;for(let tries=1;;tries++)try{let answer=await this.#once(
method3,message);return this.#mayHaveChanged||=isChange(method3),answer}catch(error2){isSent||=mayHaveArrived(error2),this.#mayHaveChanged||=
isSent&&isChange(method3);let waitMs=mayRepeat?retryWaitMs(error2,tries,RETRIES):void 0;if(waitMs===void 0)throw this.#asFault(
error2,method3,{message,isSent});this.#options.onAgain(`${whatHappened(error2)}; retrying the same request`),await pause(
this.#options.clock,waitMs)}}async#once(method3,message){let{access,timeoutMs}=this.#options,headers={...access.headers(),
"user-agent":`svc/${programVersion}`,[SCHEMA_VERSION_HEADER]:String(SCHEMA_VERSION)};try{let answer=await this.#transport.
unary(method3,void 0,timeoutMs,headers,message);return access.recordCookies(answer.header.getSetCookie()),answer.message}catch(error2){
throw error2 instanceof ConnectError&&access.recordCookies(error2.metadata.getSetCookie()),error2}}#asFault(error2,method3,{
message,isSent}){if(!(error2 instanceof ConnectError&&isWithoutAnswer(error2)))return error2;let{endpoint}=this.#options.
access,sentence=`${endpoint} did not respond: ${whatHappened(error2)}`,{requestId:requestId2}=message;return!this.#mayHaveChanged&&
isUnreached(error2)?new NoAnswer(sentence,SERVICE_AWAY):!requestId2||!isSent?new NoAnswer(sentence):new NoAnswer(sentence,
`It is unknown whether ${method3.name} was applied. Run the same command with
--request-id ${requestId2}. A request id is never applied twice.
Do not use a new id.`)}},SERVICE_AWAY=`Nothing was changed. Check that the service is running ("svc serve", "systemctl s\
tatus svc"),
and check its address: --endpoint or SVC_ENDPOINT`;function isChange(method3){return getOption(method3,policy).mutation}
function mayHaveArrived(error2){return!(error2 instanceof ConnectError)||!isWithoutAnswer(error2)?!1:!isUnreached(error2)&&
!isUntrusted(error2)}function whatHappened(error2){if(!(error2 instanceof ConnectError))return String(error2);let code2=networkCodeOf(
error2);return isUnreached(error2)?`connection refused or host unreachable (${code2})`:code2!==void 0?certificateProblem(
code2)??`the connection failed (${code2})`:error2.code===Code.DeadlineExceeded?"the timeout (--timeout) expired":error2.
rawMessage}async function askPlainly(request3){let{method:method3,url,headers={},body,timeoutMs}=request3,{host}=new URL(
url);try{let answer=await fetch(url,{method:method3,headers,redirect:"manual",...body!==void 0&&{body},signal:AbortSignal.
timeout(timeoutMs)});return{status:answer.status,headers:answer.headers,text:await boundedText(answer)}}catch(error2){if(error2 instanceof
NoAnswer)throw error2;let cause=causeOf(error2),hint=cause==="ECONNREFUSED"?request3.ifUnreached:void 0;throw new NoAnswer(
`${host} did not respond: ${cause}`,hint)}}async function boundedText(answer){let chunks=[],bytes=0;for await(let chunk of answer.
body??[]){if(bytes+=chunk.byteLength,bytes>ANSWER_BYTES_MAX)throw new NoAnswer("The response is larger than any response\
 of this service");chunks.push(chunk)}return Buffer.concat(chunks).toString("utf8")}function causeOf(error2){if(error2 instanceof
Error&&error2.name==="TimeoutError")return"the request timed out";let cause=error2 instanceof Error?error2.cause??error2:
error2;return cause instanceof Error&&"code"in cause?certificateProblem(String(cause.code))??String(cause.code):cause instanceof
Error?cause.message:String(cause)}var import_node_util2=require("node:util");var OTHER_FORM={kind:"otherForm"},DAY_MS=864e5,MINUTE_MS=6e4,CALENDAR=/^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i,
TIME_OF_DAY=/^(\d{1,2}):(\d\d)$/,COMPACT_DATE=/^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/;function readTime(text2,options){
if(/^\d+$/.test(text2))return unixTime(text2);let ofDay=TIME_OF_DAY.exec(text2);if(ofDay)return timeOfDay(text2,Number(ofDay[1]),
Number(ofDay[2]),options);let parts=CALENDAR.exec(text2);if(!parts)return OTHER_FORM;let[,year="",month="",day="",hour,minute="\
0",second="0"]=parts,date={year:Number(year),month:Number(month),day:Number(day)};if(!isDate(date))return refused(`the d\
ay ${year}-${month}-${day} does not exist`);let clock={hour:Number(hour??0),minute:Number(minute),second:Number(second)};
if(clock.hour>23||clock.minute>59||clock.second>59)return refused("a day has the times 00:00:00 to 23:59:59");let partMs=Math.
trunc(+`0.${parts[7]??"0"}`*1e3),fields={...date,...clock},zone=parts[8];if(zone!==void 0){let offsetMinutes=offsetOf(zone);
return offsetMinutes===void 0?refused(`the offset ${zone} does not exist`):moment(utcOf(fields)+partMs-offsetMinutes*MINUTE_MS,
!1)}return hour===void 0?moment(startOfDay(fields,options.zone),!0):chosen(fields,partMs,options)}function moment(unixMs,isInferred){
return{kind:"moment",unixMs,isInferred}}function refused(problem){return{kind:"refused",problem}}function unixTime(text2){
let date=COMPACT_DATE.exec(text2);return date?refused(`write the date as ${date[1]}-${date[2]}-${date[3]}`):text2.length>
13?OTHER_FORM:text2.length>11?refused("give Unix seconds, not milliseconds"):moment(Number(text2)*1e3,!1)}function isDate({
year,month,day}){let date=new Date(Date.UTC(2e3,month-1,day));return date.setUTCFullYear(year,month-1,day),date.getUTCMonth()===
month-1&&date.getUTCDate()===day}function offsetOf(zone){if(zone.toUpperCase()==="Z")return 0;let[hours,minutes]=[Number(
zone.slice(1,3)),Number(zone.slice(3).replace(":",""))];if(!(hours>14||minutes>59))return(zone.startsWith("-")?-1:1)*(60*
hours+minutes)}function utcOf({year,month,day,hour,minute,second}){return new Date(0).setUTCFullYear(year,month-1,day)+((hour*
60+minute)*60+second)*1e3}function momentsOf(fields,zone){let utcMs=utcOf(fields),found=[utcMs-DAY_MS,utcMs+DAY_MS].map(
nearMs=>utcMs-aheadAt(nearMs,zone)).filter(unixMs=>unixMs+aheadAt(unixMs,zone)===utcMs);return[...new Set(found)].sort((a,b)=>a-
b)}function aheadAt(unixMs,zone){return zone==="utc"?0:zone==="local"?-new Date(unixMs).getTimezoneOffset()*MINUTE_MS:zone(
unixMs)}function endOfGap(fields,zone){let utcMs=utcOf(fields),[low,high]=[utcMs-DAY_MS,utcMs+DAY_MS],before=aheadAt(low,
zone);for(;high-low>1;){let middle=Math.floor((low+high)/2);aheadAt(middle,zone)===before?low=middle:high=middle}return high}
function startOfDay(fields,zone){return momentsOf(fields,zone)[0]??endOfGap(fields,zone)}function chosen(fields,partMs,options){
let{zone,near,takesFirst=!1}=options,found=momentsOf(fields,zone).map(unixMs=>unixMs+partMs);if(found.length===0)return refused(
skipped(fields,zone));let fitting=found.filter(unixMs=>near===void 0||isOnSide(unixMs,near)),[only=found[0]??0,another]=fitting.
length===0?found.slice(0,1):fitting;return another===void 0||takesFirst?moment(only,!0):refused(repeated(found,zone))}function isOnSide(unixMs,{
unixMs:nearMs,side}){return side==="after"?unixMs>nearMs:unixMs<=nearMs}function timeOfDay(text2,hour,minute,options){let{
zone,near}=options;if(near===void 0)return OTHER_FORM;if(hour>23||minute>59)return refused("a day has the times 00:00 to\
 23:59");let step=near.side==="after"?1:-1,today=wallDate(near.unixMs,zone);for(let days=0;days<=2;days++){let fields={...dayBeside(
today,step*days),hour,minute,second:0},fitting=momentsOf(fields,zone).filter(unixMs2=>isOnSide(unixMs2,near)),unixMs=step===
1?fitting[0]:fitting.at(-1);if(unixMs!==void 0)return moment(unixMs,!0);if(momentsOf(fields,zone).length===0&&isOnSide(endOfGap(
fields,zone),near))return refused(skipped(fields,zone))}return refused(`no ${text2} was found`)}function wallDate(unixMs,zone){
let date=new Date(unixMs+aheadAt(unixMs,zone)),[year,month,day]=[date.getUTCFullYear(),date.getUTCMonth()+1,date.getUTCDate()];
return{year,month,day}}function dayBeside({year,month,day},days){let date=new Date(Date.UTC(year,month-1,day+days));return wallDate(
date.getTime(),"utc")}function skipped(fields,zone){let time=`${two(fields.hour)}:${two(fields.minute)}`,day=`${fields.year}\
-${two(fields.month)}-${two(fields.day)}`,next=withOffset(endOfGap(fields,zone),zone);return`${time} does not exist on ${day}\
, because clocks are set forward: the next time is ${next}`}function repeated(found,zone){return`this time occurs twice,\
 because clocks are set back: give ${found.map(unixMs=>withOffset(unixMs,zone)).join(" or ")}`}function withOffset(unixMs,zone="\
local"){let aheadMs=aheadAt(unixMs,zone),minutes=Math.abs(aheadMs)/MINUTE_MS;return`${new Date(unixMs+aheadMs).toISOString().
slice(0,19)}${aheadMs<0?"-":"+"}${two(Math.floor(minutes/60))}:${two(minutes%60)}`}function two(value){return String(value).
padStart(2,"0")}var SECRET_OPTIONS=["key","api-key","apikey","token","secret","password","setup-code"];function parseInput(args,shape,nowMs,report=()=>{}){
let split=shape.takesCommand?args.indexOf("--"):-1,own=split<0?args:args.slice(0,split),{tokens}=(0,import_node_util2.parseArgs)(
{args:[...own],options:Object.fromEntries(shape.options.map(({name,takes})=>[name,{type:takes?"string":"boolean"}])),strict:!1,
allowPositionals:!0,tokens:!0}),given=new Map,positionals=[];for(let token of tokens){if(token.kind==="positional"&&positionals.
push(token.value),token.kind!=="option")continue;let option=optionNamed(token.name,token.rawName,shape.options),values=given.
get(option.name)??[];if(values.length>0&&!option.multiple)throw new UsageError(`--${option.name} is given twice`);given.
set(option.name,[...values,checkedValue(option,token)])}return checkPositionals(positionals,shape.positionals??[]),new Input(
{given,positionals,nowMs,report,command:split<0?[]:args.slice(split+1)})}function optionNamed(name,raw,options){let option=options.
find(candidate=>candidate.name===name);if(option)return option;if(SECRET_OPTIONS.includes(name))throw new UsageError(`${raw}\
 is rejected: every process on this machine can read a command line, and shells store it`,'Set the environment variable \
SVC_API_KEY to the key, or sign in with "svc login"');let closest=closestName(name,options.map(candidate=>candidate.name));
throw new UsageError(`${raw} is unknown${closest?`. Did you mean --${closest}?`:""}`)}function checkedValue(option,token){
let{name,takes,choices,aliases={}}=option,{value,inlineValue=!1}=token;if(!takes){if(value!==void 0)throw new UsageError(
`--${name} takes no value`);return""}if(value===void 0||!inlineValue&&value.startsWith("--"))throw new UsageError(`--${name}\
 requires a value: ${takes}`);let meant=aliases[value]??value;if(choices&&!choices.includes(meant))throw new UsageError(
`--${name} must be one of ${choices.join(", ")}, not ${quoted(value)}`);return meant}function checkPositionals(given,declared){
let missing=declared.find(({optional},place)=>!optional&&given[place]===void 0);if(missing)throw new UsageError(`${missing.
name} is missing`);let extra=given[declared.length];if(extra!==void 0&&!declared.at(-1)?.multiple)throw new UsageError(`\
Unexpected argument ${quoted(extra)}`)}var Input=class{#given;#nowMs;#report;#reported=new Set;positionals;command;constructor({
given,positionals,command,nowMs,report}){this.#report=report,this.#given=given,this.#nowMs=nowMs,this.positionals=positionals,
this.command=command}isOn(name){return this.#given.has(name)}text(name){return this.#given.get(name)?.[0]}required(name){
let value=this.text(name);if(value===void 0||value==="")throw new UsageError(`--${name} is missing`);return value}list(name){
return this.#given.get(name)??[]}members(name,members){return this.list(name).flatMap(text2=>members[text2]??[])}number(name){
let value=this.text(name);if(value===void 0)return;let number=Number(value);if(value.trim()===""||!Number.isFinite(number))
throw new UsageError(`--${name} must be a number, not ${quoted(value)}`);return number}seconds(name){let value=this.text(
name);return value===void 0?void 0:parseDuration(`--${name}`,value)}time(name){let value=this.text(name);return value!==
void 0&&LENGTH_OF_TIME.test(value)?Math.max(0,Math.floor(this.#nowMs/1e3)-parseDuration(`--${name}`,value)):this.#moment(
name,{unixMs:this.#nowMs,side:"before"})}timeToCome(name,afterUnix=0){return this.#moment(name,{unixMs:Math.max(this.#nowMs,
afterUnix*1e3),side:"after"})}#moment(name,near){let value=this.text(name);if(value===void 0)return;let read=readTime(value,
{zone:"local",near});if(read.kind==="refused")throw new UsageError(`--${name} ${quoted(value)} is not a time: ${read.problem}`);
if(read.kind==="otherForm")throw new UsageError(`--${name} must be a time such as 08:00, 2026-11-21T12:00:00Z or Unix se\
conds, not ${quoted(value)}`);return read.isInferred&&!this.#reported.has(name)&&(this.#reported.add(name),this.#report(
`--${name} ${value} is ${withOffset(read.unixMs)}`)),Math.floor(read.unixMs/1e3)}positional(place){return this.positionals[place]??
""}},LENGTH_OF_TIME=/^\d{1,9}[smhd]$/,UNIT_SECONDS={"":1,s:1,m:60,h:3600,d:86400};function parseDuration(what,value){let match=/^(\d{1,9})([smhd]?)$/.
exec(value),unit=UNIT_SECONDS[match?.[2]??""];if(!match||unit===void 0)throw new UsageError(`${what} must be a duration \
such as 90s, 15m, 24h or 90d, not ${quoted(value)}`);return Number(match[1])*unit}function quoted(value){return JSON.stringify(
value.replaceAll(/(svc_[a-z]{2,7}_)\w{20,}/g,"$1…"))}var FLAGS={displayName:"name",metricId:"metric",metricIds:"metric",sustainedSeconds:"for",vmNames:"vm",destinationNames:"\
destination",repeatIntervalSeconds:"repeat",labels:"label",runbookText:"runbook",runbookUrl:"runbook-url",recoveryThreshold:"\
recovery-threshold",recoverySeconds:"recovery-for",historySeconds:"history",groupWaitSeconds:"group-wait",overlapSeconds:"\
overlap"};function flagHint(field,options,input){let last=field.slice(field.lastIndexOf(".")+1),option=options.find(({name:name2})=>name2===
(FLAGS[last]??last));if(!option)return;let{name,choices}=option;return input.isOn(name)?`Check --${name}`:name==="vm"&&options.
some(one=>one.name==="all-vms")?input.isOn("all-vms")?void 0:"Set --all-vms, or --vm NAME":`Set --${name}${choices?` to ${anyOf(
choices)}`:""}`}function anyOf(choices){let last=choices.at(-1)??"";return choices.length===1?last:`${choices.slice(0,-1).
join(", ")} or ${last}`}var import_node_child_process=require("node:child_process"),import_node_events=require("node:events"),import_node_os=require("node:os"),
import_promises=require("node:readline/promises"),import_consumers=require("node:stream/consumers");function processPorts(){let isInteractive=process.stdin.isTTY===!0&&process.stderr.isTTY===!0;return{clock:systemClock,random:systemRandom,
homeFolder:(0,import_node_os.homedir)(),isInteractive,readInput:()=>(0,import_consumers.text)(process.stdin),ask,openBrowser,
runChild:child=>runChild(child,isInteractive)}}async function ask(prompt){let lines=(0,import_promises.createInterface)(
{input:process.stdin,output:process.stderr}),ended=(0,import_node_events.once)(lines,"close").then(()=>"");try{return await Promise.
race([lines.question(prompt),ended])}finally{lines.close()}}async function openBrowser(url){let command=process.platform===
"darwin"?"open":"xdg-open",hasDisplay=process.env.DISPLAY??process.env.WAYLAND_DISPLAY;if(command==="xdg-open"&&!hasDisplay)
return!1;let child=(0,import_node_child_process.spawn)(command,[url],{stdio:"ignore",detached:!0,env:withoutSettings(process.
env)}),started=await Promise.race([(0,import_node_events.once)(child,"spawn").then(()=>!0),(0,import_node_events.once)(child,
"error").then(()=>!1)]);return child.unref(),started}function withoutSettings(environment){return Object.fromEntries(Object.
entries(environment).filter(([name])=>!name.startsWith("SVC_")))}var SIGNAL_BASE=128;async function runChild({command:[file="",
...args],environment,onSignal},isInteractive){let forget=onSignal(signal=>{signal==="SIGINT"&&isInteractive||child.kill(
signal)}),child=(0,import_node_child_process.spawn)(file,args,{stdio:"inherit",env:{...environment}});try{let[code2,signal]=await(0,import_node_events.once)(
child,"exit");return signal!==null?{exitCode:SIGNAL_BASE+import_node_os.constants.signals[signal]}:{exitCode:code2??1}}catch(error2){
let{code:code2,message}=error2;return{problem:message,missing:code2==="ENOENT"}}finally{forget()}}var sharedOptions=[{name:"endpoint",takes:"URL",help:"Address of the service; default: SVC_ENDPOINT"},{name:"timeout",takes:"\
DURATION",help:"Maximum wait for one response; default 30s"},{name:"json",help:"Print one JSON document, for programs"}],
projectOption={name:"project",takes:"PROJECT",help:"Project, by id or name; default: SVC_PROJECT, or the only one you ar\
e a member of"},requestIdOption={name:"request-id",takes:"UUID",help:"Request id of an earlier attempt without a respons\
e: the change is not made twice"},TIMEOUT_SECONDS_DEFAULT=30;function family(name,summary,actions,notes=""){return{name,
summary,actions,help:()=>familyHelp(name,actions,notes),isSingle:!1,async run([given,...rest],surroundings){let action=actions.
find(candidate=>candidate.name===given);return action?runAction(`${name} ${action.name}`,action,rest,surroundings):(surroundings.
stderr(unknownAction(name,given,actions)),2)},helpOf:given=>{let action=actions.find(candidate=>candidate.name===given);
return action&&actionHelp(`${name} ${action.name}`,action)},misnamed:given=>actions.some(action=>action.name===given)?void 0:
unknownAction(name,given,actions)}}async function runAction(command,action,args,surroundings){let json2=beforeDashes(args).includes("--json"),options=[...action.
options??[],...sharedOptions],input;try{let ports=surroundings.client??processPorts(),report=line=>surroundings.stderr(`${line}\

`);return input=parseInput(args,{...action,options},ports.clock.now(),report),await action.run(contextOf(input,surroundings,
ports))}catch(error2){let fieldHint=field=>input&&flagHint(field,options,input),fault=describeFault(error2,{command,json:json2,
hints:action.hints,fieldHint});if(!fault)throw error2;return surroundings.stderr(fault.text),error2 instanceof UsageError&&
!json2&&surroundings.stderr(`  See "svc help ${command}"
`),fault.exitCode}}function contextOf(input,surroundings,ports){let{environment,stdout,stderr}=surroundings,timeoutMs=(input.
seconds("timeout")??TIMEOUT_SECONDS_DEFAULT)*1e3;if(timeoutMs===0)throw new UsageError("--timeout must be at least 1s");
let report=line=>stderr(`${line}
`),access=caller=>openAccess({endpoint:input.text("endpoint"),caller,environment,ports}),api=caller=>new Api({access:access(
caller),clock:ports.clock,timeoutMs,onAgain:report}),json2=input.isOn("json");return{input,environment,surroundings,ports,
json:json2,timeoutMs,screen:screenOf(surroundings,ports),print:stdout,report,access,api}}var COLUMNS_DEFAULT=80;function screenOf(surroundings,{
clock}){let{environment,isStdoutTerminal,stdoutColumns}=surroundings;if(isStdoutTerminal)return{columns:stdoutColumns||COLUMNS_DEFAULT,
hasColour:!environment.NO_COLOR&&environment.TERM!=="dumb",nowMs:clock.now()}}function unknownAction(name,given,actions){
let names=actions.map(action=>action.name);if(given===void 0)return`svc ${name}: specify an action: ${names.join(", ")}
`;let closest=closestName(given,names),hint=closest?`did you mean "svc ${name} ${closest}"?`:`available: ${names.join(",\
 ")}`;return`svc ${name}: ${JSON.stringify(given)} is not an action: ${hint}
`}function familyHelp(name,actions,notes){let usages=actions.map(action=>usageOf(`${name} ${action.name}`,action)),width=Math.
max(...usages.map(usage=>usage.length)),lines=actions.map(({summary},i)=>`  ${(usages[i]??"").padEnd(width)}  ${summary}`),
more=notes===""?"":`
${notes.trim()}
`;return`Usage:
${lines.join(`
`)}
${more}
"svc help ${name} <action>" lists its options.
`}function usageOf(command,{positionals=[],takesCommand=!1}){let places=positionals.map(({name,optional,multiple})=>{let displayed2=multiple?
`${name}...`:name;return optional?`[${displayed2}]`:displayed2});return["svc",command,...places,...takesCommand?["[-- co\
mmand…]"]:[]].join(" ")}function actionHelp(command,action){let options=[...action.options??[],...sharedOptions],heads=options.
map(({name,takes})=>`--${name}${takes?` ${takes}`:""}`),width=Math.max(...heads.map(head=>head.length)),lines=options.map(
({help,choices,multiple},i)=>{let facts2=[help,choices&&`one of ${choices.join(", ")}`,multiple&&"may be repeated"];return`\
  ${(heads[i]??"").padEnd(width)}  ${facts2.filter(Boolean).join("; ")}`}),notes=action.notes?`
${action.notes.trim()}
`:"";return`${`Usage: ${usageOf(command,action)} [flags]`}

${action.summary}.

${lines.join(`
`)}
${notes}`}function tableLines(columns,rows2){let widths=columns.map(({title},i)=>Math.max(title.length,...rows2.map(row=>(row[i]??
"").length))),line=cells=>columns.map(({align},i)=>{let[cell="",width=0]=[cells[i],widths[i]];return align==="right"?cell.
padStart(width):cell.padEnd(width)}).join("  ").trimEnd();return[line(columns.map(({title})=>title)),...rows2.map(line)]}function table(columns,rows2,none){if(rows2.length===0)return`${none}
`;let titled=columns.map(column=>typeof column=="string"?{title:column}:column);return`${tableLines(titled,rows2.map(row=>row.
map(printable))).join(`
`)}
`}function facts(pairs){let displayed2=pairs.filter(([,value])=>value!==""),width=Math.max(0,...displayed2.map(([name])=>name.
length));return displayed2.map(([name,value])=>`${name.padEnd(width)}  ${printable(value)}
`).join("")}function json(value){return`${JSON.stringify(value,null,2)}
`}function messageJson(schema,message){return toJson(schema,message,{alwaysEmitImplicit:!0})}function messageDocument(schema,message){
return json(messageJson(schema,create(schema,message)))}function printMessage({json:isJson,print},schema,message,text2){
return print(isJson?messageDocument(schema,message):text2()),0}var file_svc_project_v1_project=fileDesc("ChxzdmMvcHJvamVjdC92MS9wcm9qZWN0LnByb3RvEg5zdmMucHJvamVjdC52MSIQCg5HZXRTZWxmUm\
VxdWVzdCKJAQoGUGVyc29uEgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEg0KBWVtYWlsGAMgASgJEhYKDnNpZ25faW5fbWV0aG9kGAQgAS\
gJEhwKFHNlc3Npb25fZXhwaXJlc191bml4GAUgASgDEhYKDnVucHJvdmVuX2VtYWlsGAYgASgJIhcKFUdldFNlcnZpY2VJbmZvUmVxdWVzdCKAAgoLU2Vydm\
ljZUluZm8SDwoHdmVyc2lvbhgBIAEoCRIhChlzYW1wbGluZ19pbnRlcnZhbF9zZWNvbmRzGAIgASgFEhAKCGhhc19tYWlsGAMgASgIEjgKCmNpX2lzc3Vlcn\
MYBCADKAsyJC5zdmMucHJvamVjdC52MS5TZXJ2aWNlSW5mby5DaUlzc3VlchIcChRleHBhbmRlZF9kYXRhY2VudGVycxgFIAMoCRIeChZwZW9wbGVfY3JlYX\
RlX3Byb2plY3RzGAYgASgIGjMKCENpSXNzdWVyEgwKBG5hbWUYASABKAkSDAoEa2luZBgCIAEoCRILCgN1cmwYAyABKAkiLgoYU2lnbk91dEV2ZXJ5d2hlcm\
VSZXF1ZXN0EhIKCnJlcXVlc3RfaWQYASABKAkiLQoZU2lnbk91dEV2ZXJ5d2hlcmVSZXNwb25zZRIQCghzZXNzaW9ucxgBIAEoBSKTAQoHU2Vzc2lvbhIMCg\
RuYW1lGAEgASgJEhYKDnNpZ25faW5fbWV0aG9kGAIgASgJEg0KBWFnZW50GAMgASgJEhQKDGNyZWF0ZWRfdW5peBgEIAEoAxIWCg5sYXN0X3VzZWRfdW5peB\
gFIAEoAxIUCgxleHBpcmVzX3VuaXgYBiABKAMSDwoHY3VycmVudBgHIAEoCCIVChNMaXN0U2Vzc2lvbnNSZXF1ZXN0IkEKFExpc3RTZXNzaW9uc1Jlc3Bvbn\
NlEikKCHNlc3Npb25zGAEgAygLMhcuc3ZjLnByb2plY3QudjEuU2Vzc2lvbiI1ChFFbmRTZXNzaW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3\
RfaWQYAiABKAkiFAoSRW5kU2Vzc2lvblJlc3BvbnNlIp0BCgdQcm9qZWN0EgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEhQKDGNyZWF0ZW\
RfdW5peBgDIAEoAxIiCgRyb2xlGAQgASgOMhQuc3ZjLnByb2plY3QudjEuUm9sZRITCgttZW1iZXJfbmFtZRgFIAEoCRIfChdwcm9tcWxfbG9va2JhY2tfc2\
Vjb25kcxgGIAEoBSJ6ChRVcGRhdGVQcm9qZWN0UmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSJAoXcHJvbXFsX2xvb2tiYWNrX3\
NlY29uZHMYAyABKAVIAIgBAUIaChhfcHJvbXFsX2xvb2tiYWNrX3NlY29uZHMiPAoTTGlzdFByb2plY3RzUmVxdWVzdBIRCglwYWdlX3NpemUYASABKAUSEg\
oKcGFnZV90b2tlbhgCIAEoCSJaChRMaXN0UHJvamVjdHNSZXNwb25zZRIpCghwcm9qZWN0cxgBIAMoCzIXLnN2Yy5wcm9qZWN0LnYxLlByb2plY3QSFwoPbm\
V4dF9wYWdlX3Rva2VuGAIgASgJIlQKFENyZWF0ZVByb2plY3RSZXF1ZXN0EhIKCnJlcXVlc3RfaWQYASABKAkSEgoKcHJvamVjdF9pZBgCIAEoCRIUCgxkaX\
NwbGF5X25hbWUYAyABKAkiIQoRR2V0UHJvamVjdFJlcXVlc3QSDAoEbmFtZRgBIAEoCSKMAQoGTWVtYmVyEgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW\
1lGAIgASgJEg0KBWVtYWlsGAMgASgJEiIKBHJvbGUYBCABKA4yFC5zdmMucHJvamVjdC52MS5Sb2xlEhMKC2pvaW5lZF91bml4GAUgASgDEhYKDnVucHJvdm\
VuX2VtYWlsGAYgASgJIlEKEkxpc3RNZW1iZXJzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEQoJcGFnZV9zaXplGAIgASgFEhIKCnBhZ2VfdG9rZW\
4YAyABKAkiVwoTTGlzdE1lbWJlcnNSZXNwb25zZRInCgdtZW1iZXJzGAEgAygLMhYuc3ZjLnByb2plY3QudjEuTWVtYmVyEhcKD25leHRfcGFnZV90b2tlbh\
gCIAEoCSKXAwoKSW52aXRhdGlvbhIMCgRuYW1lGAEgASgJEg0KBWVtYWlsGAIgASgJEiIKBHJvbGUYAyABKA4yFC5zdmMucHJvamVjdC52MS5Sb2xlEi8KBX\
N0YXRlGAQgASgOMiAuc3ZjLnByb2plY3QudjEuSW52aXRhdGlvbi5TdGF0ZRISCgppbnZpdGVkX2J5GAUgASgJEhQKDGNyZWF0ZWRfdW5peBgGIAEoAxIUCg\
xleHBpcmVzX3VuaXgYByABKAMSEwoLYWNjZXB0ZWRfYnkYCCABKAkSFAoMZW1haWxfcHJvdmVuGAkgASgIEh8KF2ludml0ZWRfYnlfZGlzcGxheV9uYW1lGA\
ogASgJEiAKGGFjY2VwdGVkX2J5X2Rpc3BsYXlfbmFtZRgLIAEoCRIUCgxtYWlsX3Byb2JsZW0YDCABKAkiUwoFU3RhdGUSFQoRU1RBVEVfVU5TUEVDSUZJRU\
QQABILCgdQRU5ESU5HEAESDAoIQUNDRVBURUQQAhILCgdSRVZPS0VEEAMSCwoHRVhQSVJFRBAEInIKE0ludml0ZU1lbWJlclJlcXVlc3QSFAoMcHJvamVjdF\
9uYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSDQoFZW1haWwYAyABKAkSIgoEcm9sZRgEIAEoDjIULnN2Yy5wcm9qZWN0LnYxLlJvbGUifwoUSW52aX\
RlTWVtYmVyUmVzcG9uc2USLgoKaW52aXRhdGlvbhgBIAEoCzIaLnN2Yy5wcm9qZWN0LnYxLkludml0YXRpb24SDAoEbGluaxgCIAEoCRIYChBzZWNyZXRfYX\
ZhaWxhYmxlGAMgASgIEg8KB2VtYWlsZWQYBCABKAgiVQoWTGlzdEludml0YXRpb25zUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEQoJcGFnZV9zaX\
plGAIgASgFEhIKCnBhZ2VfdG9rZW4YAyABKAkiYwoXTGlzdEludml0YXRpb25zUmVzcG9uc2USLwoLaW52aXRhdGlvbnMYASADKAsyGi5zdmMucHJvamVjdC\
52MS5JbnZpdGF0aW9uEhcKD25leHRfcGFnZV90b2tlbhgCIAEoCSI7ChdSZXZva2VJbnZpdGF0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3\
RfaWQYAiABKAkiNwoTUmVtb3ZlTWVtYmVyUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkiFgoUUmVtb3ZlTWVtYmVyUmVzcG9uc2\
UiXAoUU2V0TWVtYmVyUm9sZVJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEiIKBHJvbGUYAyABKA4yFC5zdmMucHJvamVjdC52MS\
5Sb2xlIkkKDkVucm9sVm1SZXF1ZXN0Eg8KB3ZtX25hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRISCgpkYXRhY2VudGVyGAMgASgJIoQBCg9FbnJvbF\
ZtUmVzcG9uc2USDwoHdm1fbmFtZRgBIAEoCRIXCg9lbnJvbG1lbnRfdG9rZW4YAiABKAkSGAoQc2VjcmV0X2F2YWlsYWJsZRgDIAEoCBIUCgxleHBpcmVzX3\
VuaXgYBCABKAMSFwoPaW5zdGFsbF9jb21tYW5kGAUgASgJIjcKEFVuZW5yb2xWbVJlcXVlc3QSDwoHdm1fbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgAS\
gJIhMKEVVuZW5yb2xWbVJlc3BvbnNlKj8KBFJvbGUSFAoQUk9MRV9VTlNQRUNJRklFRBAAEgoKBlZJRVdFUhABEgoKBkVESVRPUhACEgkKBU9XTkVSEAMyhg\
0KDlByb2plY3RTZXJ2aWNlEksKB0dldFNlbGYSHi5zdmMucHJvamVjdC52MS5HZXRTZWxmUmVxdWVzdBoWLnN2Yy5wcm9qZWN0LnYxLlBlcnNvbiIIirUYBA\
gGGAYSXgoOR2V0U2VydmljZUluZm8SJS5zdmMucHJvamVjdC52MS5HZXRTZXJ2aWNlSW5mb1JlcXVlc3QaGy5zdmMucHJvamVjdC52MS5TZXJ2aWNlSW5mby\
IIirUYBAgGGAYSdAoRU2lnbk91dEV2ZXJ5d2hlcmUSKC5zdmMucHJvamVjdC52MS5TaWduT3V0RXZlcnl3aGVyZVJlcXVlc3QaKS5zdmMucHJvamVjdC52MS\
5TaWduT3V0RXZlcnl3aGVyZVJlc3BvbnNlIgqKtRgGCAYQARgGEmMKDExpc3RTZXNzaW9ucxIjLnN2Yy5wcm9qZWN0LnYxLkxpc3RTZXNzaW9uc1JlcXVlc3\
QaJC5zdmMucHJvamVjdC52MS5MaXN0U2Vzc2lvbnNSZXNwb25zZSIIirUYBAgGGAYSXwoKRW5kU2Vzc2lvbhIhLnN2Yy5wcm9qZWN0LnYxLkVuZFNlc3Npb2\
5SZXF1ZXN0GiIuc3ZjLnByb2plY3QudjEuRW5kU2Vzc2lvblJlc3BvbnNlIgqKtRgGCAYQARgGEmUKDExpc3RQcm9qZWN0cxIjLnN2Yy5wcm9qZWN0LnYxLk\
xpc3RQcm9qZWN0c1JlcXVlc3QaJC5zdmMucHJvamVjdC52MS5MaXN0UHJvamVjdHNSZXNwb25zZSIKirUYBggGGAYgARJaCg1DcmVhdGVQcm9qZWN0EiQuc3\
ZjLnByb2plY3QudjEuQ3JlYXRlUHJvamVjdFJlcXVlc3QaFy5zdmMucHJvamVjdC52MS5Qcm9qZWN0IgqKtRgGCAYQARgGElIKCkdldFByb2plY3QSIS5zdm\
MucHJvamVjdC52MS5HZXRQcm9qZWN0UmVxdWVzdBoXLnN2Yy5wcm9qZWN0LnYxLlByb2plY3QiCIq1GAQIBhgBEloKDVVwZGF0ZVByb2plY3QSJC5zdmMucH\
JvamVjdC52MS5VcGRhdGVQcm9qZWN0UmVxdWVzdBoXLnN2Yy5wcm9qZWN0LnYxLlByb2plY3QiCoq1GAYIBhABGAMSYgoLTGlzdE1lbWJlcnMSIi5zdmMucH\
JvamVjdC52MS5MaXN0TWVtYmVyc1JlcXVlc3QaIy5zdmMucHJvamVjdC52MS5MaXN0TWVtYmVyc1Jlc3BvbnNlIgqKtRgGCAYYASABEmcKDEludml0ZU1lbW\
JlchIjLnN2Yy5wcm9qZWN0LnYxLkludml0ZU1lbWJlclJlcXVlc3QaJC5zdmMucHJvamVjdC52MS5JbnZpdGVNZW1iZXJSZXNwb25zZSIMirUYCAgGEAEYAy\
gBEm4KD0xpc3RJbnZpdGF0aW9ucxImLnN2Yy5wcm9qZWN0LnYxLkxpc3RJbnZpdGF0aW9uc1JlcXVlc3QaJy5zdmMucHJvamVjdC52MS5MaXN0SW52aXRhdG\
lvbnNSZXNwb25zZSIKirUYBggGGAMgARJjChBSZXZva2VJbnZpdGF0aW9uEicuc3ZjLnByb2plY3QudjEuUmV2b2tlSW52aXRhdGlvblJlcXVlc3QaGi5zdm\
MucHJvamVjdC52MS5JbnZpdGF0aW9uIgqKtRgGCAYQARgDEmUKDFJlbW92ZU1lbWJlchIjLnN2Yy5wcm9qZWN0LnYxLlJlbW92ZU1lbWJlclJlcXVlc3QaJC\
5zdmMucHJvamVjdC52MS5SZW1vdmVNZW1iZXJSZXNwb25zZSIKirUYBggGEAEYBxJZCg1TZXRNZW1iZXJSb2xlEiQuc3ZjLnByb2plY3QudjEuU2V0TWVtYm\
VyUm9sZVJlcXVlc3QaFi5zdmMucHJvamVjdC52MS5NZW1iZXIiCoq1GAYIBhABGAMSVgoHRW5yb2xWbRIeLnN2Yy5wcm9qZWN0LnYxLkVucm9sVm1SZXF1ZX\
N0Gh8uc3ZjLnByb2plY3QudjEuRW5yb2xWbVJlc3BvbnNlIgqKtRgGCAYQARgCElwKCVVuZW5yb2xWbRIgLnN2Yy5wcm9qZWN0LnYxLlVuZW5yb2xWbVJlcX\
Vlc3QaIS5zdmMucHJvamVjdC52MS5VbmVucm9sVm1SZXNwb25zZSIKirUYBggGEAEYAmIGcHJvdG8z",[file_svc_options_v1_policy]);var Invitation_State={STATE_UNSPECIFIED:0,PENDING:1,ACCEPTED:2,REVOKED:3,EXPIRED:4};var ProjectService=serviceDesc(file_svc_project_v1_project,0);var file_svc_monitoring_v1_delivery=fileDesc("CiBzdmMvbW9uaXRvcmluZy92MS9kZWxpdmVyeS5wcm90bxIRc3ZjLm1vbml0b3JpbmcudjEiyA\
wKCERlbGl2ZXJ5EgwKBG5hbWUYASABKAkSFQoNaW5jaWRlbnRfbmFtZRgCIAEoCRIYChBkZXN0aW5hdGlvbl9uYW1lGAMgASgJEjAKBWV2ZW50GAQgASgOMi\
Euc3ZjLm1vbml0b3JpbmcudjEuRGVsaXZlcnkuRXZlbnQSMAoFc3RhdGUYBSABKA4yIS5zdmMubW9uaXRvcmluZy52MS5EZWxpdmVyeS5TdGF0ZRIOCgZyZW\
Fzb24YBiABKAkSNQoIYXR0ZW1wdHMYByADKAsyIy5zdmMubW9uaXRvcmluZy52MS5EZWxpdmVyeS5BdHRlbXB0Eh4KEW5leHRfYXR0ZW1wdF91bml4GAggAS\
gDSACIAQESFAoMY3JlYXRlZF91bml4GAkgASgDEhEKCXJlY2lwaWVudBgKIAEoCRIvCgVzdGVwcxgLIAMoCzIgLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZX\
J5LlN0ZXASGQoRcnVsZV9kaXNwbGF5X25hbWUYDCABKAkSDwoHdm1fbmFtZRgNIAEoCRIzCgdtZW1iZXJzGA4gAygLMiIuc3ZjLm1vbml0b3JpbmcudjEuRG\
VsaXZlcnkuTWVtYmVyEhYKDmluY2lkZW50X2NvdW50GA8gASgFEiAKGGRlc3RpbmF0aW9uX2Rpc3BsYXlfbmFtZRgQIAEoCRIXCg92bV9kaXNwbGF5X25hbW\
UYESABKAkavwEKB0F0dGVtcHQSEgoKYXR0ZW1wdF9pZBgBIAEoCRIUCgxzdGFydGVkX3VuaXgYAiABKAMSGAoLZHVyYXRpb25fbXMYAyABKANIAIgBARIPCg\
dvdXRjb21lGAQgASgJEhgKC2h0dHBfc3RhdHVzGAUgASgFSAGIAQESDQoFZXJyb3IYBiABKAkSFgoOYW5zd2VyX2V4Y2VycHQYByABKAlCDgoMX2R1cmF0aW\
9uX21zQg4KDF9odHRwX3N0YXR1cxrmAgoFQ2hlY2sSNQoFY2hlY2sYASABKA4yJi5zdmMubW9uaXRvcmluZy52MS5EZWxpdmVyeS5DaGVjay5LaW5kEg0KBW\
hvbGRzGAIgASgIEg4KBnJlYXNvbhgDIAEoCSKGAgoES2luZBIUChBLSU5EX1VOU1BFQ0lGSUVEEAASFgoSREVTVElOQVRJT05fRVhJU1RTEAESGgoWREVTVE\
lOQVRJT05fTk9UX1BBVVNFRBACEhYKElJFQ0lQSUVOVF9FTElHSUJMRRADEhIKDklOQ0lERU5UX0ZJUkVTEAQSEgoOTk9UX1NVUEVSU0VERUQQBRIYChRJTk\
NJREVOVF9OT1RfUkVUSVJFRBAGEg0KCVZNX0VYSVNUUxAHEg8KC1JVTEVfRVhJU1RTEAgSEgoOUlVMRV9VTkNIQU5HRUQQCRIVChFERVNUSU5BVElPTl9OQU\
1FRBAKEg8KC05PVF9TTk9PWkVEEAsaogEKBFN0ZXASEgoKYXRfdW5peF9tcxgBIAEoAxINCgVldmVudBgCIAEoCRISCgphdHRlbXB0X2lkGAMgASgJEjEKBm\
NoZWNrcxgEIAMoCzIhLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZXJ5LkNoZWNrEjAKBXN0YXRlGAUgASgOMiEuc3ZjLm1vbml0b3JpbmcudjEuRGVsaXZlcn\
kuU3RhdGUaYQoGTWVtYmVyEhUKDWluY2lkZW50X25hbWUYASABKAkSDwoHdm1fbmFtZRgCIAEoCRIWCg5kcm9wcGVkX3JlYXNvbhgDIAEoCRIXCg92bV9kaX\
NwbGF5X25hbWUYBCABKAkiUQoFRXZlbnQSFQoRRVZFTlRfVU5TUEVDSUZJRUQQABIKCgZGSVJJTkcQARIMCghSRVBFQVRFRBACEg0KCVJFQ09WRVJFRBADEg\
gKBFRFU1QQBCKHAQoFU3RhdGUSFQoRU1RBVEVfVU5TUEVDSUZJRUQQABIKCgZRVUVVRUQQARIOCgpSRUNIRUNLSU5HEAISCwoHU0VORElORxADEgsKB1dBSV\
RJTkcQBBIICgRTRU5UEAUSDgoKU1VQUFJFU1NFRBAGEgsKB0VYUElSRUQQBxIKCgZGQUlMRUQQCEIUChJfbmV4dF9hdHRlbXB0X3VuaXgimwIKFUxpc3REZW\
xpdmVyaWVzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSFQoNaW5jaWRlbnRfbmFtZRgCIAEoCRIRCglwYWdlX3NpemUYAyABKAUSEgoKcGFnZV90b2\
tlbhgEIAEoCRIYChBkZXN0aW5hdGlvbl9uYW1lGAUgASgJEjEKBnN0YXRlcxgGIAMoDjIhLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZXJ5LlN0YXRlEjEKBm\
V2ZW50cxgHIAMoDjIhLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZXJ5LkV2ZW50EhcKD3N0YXJ0X3RpbWVfdW5peBgIIAEoAxIVCg1lbmRfdGltZV91bml4GA\
kgASgDImIKFkxpc3REZWxpdmVyaWVzUmVzcG9uc2USLwoKZGVsaXZlcmllcxgBIAMoCzIbLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZXJ5EhcKD25leHRfcG\
FnZV90b2tlbhgCIAEoCSIiChJHZXREZWxpdmVyeVJlcXVlc3QSDAoEbmFtZRgBIAEoCWIGcHJvdG8z");var file_svc_monitoring_v1_destination=fileDesc("CiNzdmMvbW9uaXRvcmluZy92MS9kZXN0aW5hdGlvbi5wcm90bxIRc3ZjLm1vbml0b3Jpbmc\
udjEiHAoNV2ViaG9va1RhcmdldBILCgN1cmwYASABKAkiGgoLU2xhY2tUYXJnZXQSCwoDdXJsGAEgASgJIhoKC1RlYW1zVGFyZ2V0EgsKA3VybBgBIAEoCSI\
cCg1EaXNjb3JkVGFyZ2V0EgsKA3VybBgBIAEoCSJECgtFbWFpbFRhcmdldBI1CgpyZWNpcGllbnRzGAEgAygLMiEuc3ZjLm1vbml0b3JpbmcudjEuRW1haWx\
SZWNpcGllbnQilwIKDkVtYWlsUmVjaXBpZW50Eg8KB2FkZHJlc3MYASABKAkSNgoFc3RhdGUYAiABKA4yJy5zdmMubW9uaXRvcmluZy52MS5FbWFpbFJlY2l\
waWVudC5TdGF0ZRIRCglpc19tZW1iZXIYAyABKAgSGgoNdmVyaWZpZWRfdW5peBgEIAEoA0gAiAEBEhQKDG1haWxfcHJvYmxlbRgFIAEoCSJlCgVTdGF0ZRI\
VChFTVEFURV9VTlNQRUNJRklFRBAAEgsKB0lOVklURUQQARIMCghWRVJJRklFRBACEhAKDFVOU1VCU0NSSUJFRBADEgsKB0JPVU5DRUQQBBILCgdSRU1PVkV\
EEAVCEAoOX3ZlcmlmaWVkX3VuaXgipwYKC0Rlc3RpbmF0aW9uEgwKBG5hbWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEjMKB3dlYmhvb2sYAyABKAs\
yIC5zdmMubW9uaXRvcmluZy52MS5XZWJob29rVGFyZ2V0SAASLwoFZW1haWwYCiABKAsyHi5zdmMubW9uaXRvcmluZy52MS5FbWFpbFRhcmdldEgAEi8KBXN\
sYWNrGAsgASgLMh4uc3ZjLm1vbml0b3JpbmcudjEuU2xhY2tUYXJnZXRIABIvCgV0ZWFtcxgMIAEoCzIeLnN2Yy5tb25pdG9yaW5nLnYxLlRlYW1zVGFyZ2V\
0SAASMwoHZGlzY29yZBgNIAEoCzIgLnN2Yy5tb25pdG9yaW5nLnYxLkRpc2NvcmRUYXJnZXRIABIzCgVzdGF0ZRgEIAEoDjIkLnN2Yy5tb25pdG9yaW5nLnY\
xLkRlc3RpbmF0aW9uLlN0YXRlEhUKDXBhdXNlZF9yZWFzb24YBSABKAkSDAoEaG9zdBgGIAEoCRIRCglsYXN0X2ZvdXIYByABKAkSFAoMY3JlYXRlZF91bml\
4GAggASgDEhQKDHVwZGF0ZWRfdW5peBgJIAEoAxIlChhzZWNyZXRfb3ZlcmxhcF9lbmRzX3VuaXgYDiABKANIAYgBARIfChJmYWlsaW5nX3NpbmNlX3VuaXg\
YDyABKANIAogBARI2Cg1sYXN0X2RlbGl2ZXJ5GBAgASgLMh8uc3ZjLm1vbml0b3JpbmcudjEuTGFzdERlbGl2ZXJ5Eh8KEmdyb3VwX3dhaXRfc2Vjb25kcxg\
RIAEoBUgDiAEBEjAKCmxhc3RfZXJyb3IYEiABKAsyHC5zdmMubW9uaXRvcmluZy52MS5MYXN0RXJyb3IiNgoFU3RhdGUSFQoRU1RBVEVfVU5TUEVDSUZJRUQ\
QABIKCgZBQ1RJVkUQARIKCgZQQVVTRUQQAkIICgZ0YXJnZXRCGwoZX3NlY3JldF9vdmVybGFwX2VuZHNfdW5peEIVChNfZmFpbGluZ19zaW5jZV91bml4QhU\
KE19ncm91cF93YWl0X3NlY29uZHMiKwoJTGFzdEVycm9yEg8KB2F0X3VuaXgYASABKAMSDQoFZXJyb3IYAiABKAkiowEKDExhc3REZWxpdmVyeRIMCgRuYW1\
lGAEgASgJEjAKBXN0YXRlGAIgASgOMiEuc3ZjLm1vbml0b3JpbmcudjEuRGVsaXZlcnkuU3RhdGUSFAoMY3JlYXRlZF91bml4GAMgASgDEhsKDmF0dGVtcHR\
lZF91bml4GAQgASgDSACIAQESDQoFZXJyb3IYBSABKAlCEQoPX2F0dGVtcHRlZF91bml4InkKGENyZWF0ZURlc3RpbmF0aW9uUmVxdWVzdBIUCgxwcm9qZWN\
0X25hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRIzCgtkZXN0aW5hdGlvbhgDIAEoCzIeLnN2Yy5tb25pdG9yaW5nLnYxLkRlc3RpbmF0aW9uIoIBChl\
DcmVhdGVEZXN0aW5hdGlvblJlc3BvbnNlEjMKC2Rlc3RpbmF0aW9uGAEgASgLMh4uc3ZjLm1vbml0b3JpbmcudjEuRGVzdGluYXRpb24SFgoOd2ViaG9va19\
zZWNyZXQYAiABKAkSGAoQc2VjcmV0X2F2YWlsYWJsZRgDIAEoCCIlChVHZXREZXN0aW5hdGlvblJlcXVlc3QSDAoEbmFtZRgBIAEoCSJWChdMaXN0RGVzdGl\
uYXRpb25zUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEQoJcGFnZV9zaXplGAIgASgFEhIKCnBhZ2VfdG9rZW4YAyABKAkiaQoYTGlzdERlc3RpbmF\
0aW9uc1Jlc3BvbnNlEjQKDGRlc3RpbmF0aW9ucxgBIAMoCzIeLnN2Yy5tb25pdG9yaW5nLnYxLkRlc3RpbmF0aW9uEhcKD25leHRfcGFnZV90b2tlbhgCIAE\
oCSI8ChhEZWxldGVEZXN0aW5hdGlvblJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJIhsKGURlbGV0ZURlc3RpbmF0aW9uUmVzcG9\
uc2UikQMKGFVwZGF0ZURlc3RpbmF0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSFAoMZGlzcGxheV9uYW1lGAMgASgJEjM\
KB3dlYmhvb2sYBCABKAsyIC5zdmMubW9uaXRvcmluZy52MS5XZWJob29rVGFyZ2V0SAASLwoFZW1haWwYBSABKAsyHi5zdmMubW9uaXRvcmluZy52MS5FbWF\
pbFRhcmdldEgAEi8KBXNsYWNrGAYgASgLMh4uc3ZjLm1vbml0b3JpbmcudjEuU2xhY2tUYXJnZXRIABIvCgV0ZWFtcxgHIAEoCzIeLnN2Yy5tb25pdG9yaW5\
nLnYxLlRlYW1zVGFyZ2V0SAASMwoHZGlzY29yZBgIIAEoCzIgLnN2Yy5tb25pdG9yaW5nLnYxLkRpc2NvcmRUYXJnZXRIABIfChJncm91cF93YWl0X3NlY29\
uZHMYCSABKAVIAYgBAUIICgZ0YXJnZXRCFQoTX2dyb3VwX3dhaXRfc2Vjb25kcyI8ChhWZXJpZnlEZXN0aW5hdGlvblJlcXVlc3QSDAoEbmFtZRgBIAEoCRI\
SCgpyZXF1ZXN0X2lkGAIgASgJInMKGVZlcmlmeURlc3RpbmF0aW9uUmVzcG9uc2USMwoLZGVzdGluYXRpb24YASABKAsyHi5zdmMubW9uaXRvcmluZy52MS5\
EZXN0aW5hdGlvbhINCgVtYWlscxgCIAEoBRISCgpub3RfbWFpbGVkGAMgASgFIj8KG1NlbmRUZXN0Tm90aWZpY2F0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASg\
JEhIKCnJlcXVlc3RfaWQYAiABKAkiNgocU2VuZFRlc3ROb3RpZmljYXRpb25SZXNwb25zZRIWCg5kZWxpdmVyeV9uYW1lcxgBIAMoCSJLChdQYXVzZURlc3R\
pbmF0aW9uUmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkSDgoGcmVhc29uGAMgASgJIjwKGFJlc3VtZURlc3RpbmF0aW9uUmVxdWV\
zdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaWQYAiABKAkiVwoaUm90YXRlV2ViaG9va1NlY3JldFJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN\
0X2lkGAIgASgJEhcKD292ZXJsYXBfc2Vjb25kcxgDIAEoBSKEAQobUm90YXRlV2ViaG9va1NlY3JldFJlc3BvbnNlEjMKC2Rlc3RpbmF0aW9uGAEgASgLMh4\
uc3ZjLm1vbml0b3JpbmcudjEuRGVzdGluYXRpb24SFgoOd2ViaG9va19zZWNyZXQYAiABKAkSGAoQc2VjcmV0X2F2YWlsYWJsZRgDIAEoCGIGcHJvdG8z",[
file_svc_monitoring_v1_delivery]);var file_svc_monitoring_v1_rule=fileDesc("ChxzdmMvbW9uaXRvcmluZy92MS9ydWxlLnByb3RvEhFzdmMubW9uaXRvcmluZy52MSLYBgoNQWxlcn\
RSdWxlU3BlYxIUCgxkaXNwbGF5X25hbWUYASABKAkSEQoJbWV0cmljX2lkGAIgASgJEjsKCG9wZXJhdG9yGAMgASgOMikuc3ZjLm1vbml0b3JpbmcudjEuQW\
xlcnRSdWxlU3BlYy5PcGVyYXRvchIWCgl0aHJlc2hvbGQYBCABKAFIAIgBARIZChFzdXN0YWluZWRfc2Vjb25kcxgFIAEoBRI7CghzZXZlcml0eRgGIAEoDj\
IpLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0UnVsZVNwZWMuU2V2ZXJpdHkSDwoHYWxsX3ZtcxgHIAEoCBIQCgh2bV9uYW1lcxgIIAMoCRIUCgdlbmFibGVkGA\
kgASgISAGIAQESHwoXcmVwZWF0X2ludGVydmFsX3NlY29uZHMYCiABKAUSGQoRZGVzdGluYXRpb25fbmFtZXMYCyADKAkSHwoScmVjb3ZlcnlfdGhyZXNob2\
xkGAwgASgBSAKIAQESHQoQcmVjb3Zlcnlfc2Vjb25kcxgNIAEoBUgDiAEBEjwKBmxhYmVscxgOIAMoCzIsLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0UnVsZV\
NwZWMuTGFiZWxzRW50cnkSFAoMcnVuYm9va190ZXh0GA8gASgJEhMKC3J1bmJvb2tfdXJsGBAgASgJGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCg\
V2YWx1ZRgCIAEoCToCOAEikgEKCE9wZXJhdG9yEhgKFE9QRVJBVE9SX1VOU1BFQ0lGSUVEEAASEAoMR1JFQVRFUl9USEFOEAESGQoVR1JFQVRFUl9USEFOX0\
9SX0VRVUFMEAISDQoJTEVTU19USEFOEAMSFgoSTEVTU19USEFOX09SX0VRVUFMEAQSCQoFRVFVQUwQBRINCglOT1RfRVFVQUwQBiJJCghTZXZlcml0eRIYCh\
RTRVZFUklUWV9VTlNQRUNJRklFRBAAEggKBElORk8QARILCgdXQVJOSU5HEAISDAoIQ1JJVElDQUwQA0IMCgpfdGhyZXNob2xkQgoKCF9lbmFibGVkQhUKE1\
9yZWNvdmVyeV90aHJlc2hvbGRCEwoRX3JlY292ZXJ5X3NlY29uZHMi9QIKCUFsZXJ0UnVsZRIMCgRuYW1lGAEgASgJEi4KBHNwZWMYAiABKAsyIC5zdmMubW\
9uaXRvcmluZy52MS5BbGVydFJ1bGVTcGVjEg8KB3ZlcnNpb24YAyABKAMSFwoPYXBwbGllZF92ZXJzaW9uGAQgASgDEjwKC3N5bmNfc3RhdHVzGAUgASgOMi\
cuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlLlN5bmNTdGF0dXMSEgoKc3luY19lcnJvchgGIAEoCRIUCgxjcmVhdGVkX3VuaXgYByABKAMSFAoMdXBkYX\
RlZF91bml4GAggASgDEhIKCnVwZGF0ZWRfYnkYCSABKAkSHQoVdW5ldmFsdWF0ZWRfaW5zdGFuY2VzGAogASgDIk8KClN5bmNTdGF0dXMSGwoXU1lOQ19TVE\
FUVVNfVU5TUEVDSUZJRUQQABILCgdQRU5ESU5HEAESCwoHQVBQTElFRBACEgoKBkZBSUxFRBADIqsICg1BbGVydEluc3RhbmNlEhEKCXJ1bGVfbmFtZRgBIA\
EoCRIPCgd2bV9uYW1lGAIgASgJEjwKBmxhYmVscxgDIAMoCzIsLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0SW5zdGFuY2UuTGFiZWxzRW50cnkSNQoFc3RhdG\
UYBCABKA4yJi5zdmMubW9uaXRvcmluZy52MS5BbGVydEluc3RhbmNlLlN0YXRlEhcKCnNpbmNlX3VuaXgYBSABKANIAIgBARIXCgpsYXN0X3ZhbHVlGAYgAS\
gBSAGIAQESHwoSbGFzdF9vYnNlcnZlZF91bml4GAcgASgDSAKIAQESPgoKZGF0YV9zdGF0ZRgIIAEoDjIqLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0SW5zdG\
FuY2UuRGF0YVN0YXRlEh8KEm1pc3Npbmdfc2luY2VfdW5peBgJIAEoA0gDiAEBEgwKBG5hbWUYCiABKAkSMwoEcGF0aBgLIAMoCzIlLnN2Yy5tb25pdG9yaW\
5nLnYxLkFsZXJ0SW5zdGFuY2UuU3RlcBIaCg1maXJlc19hdF91bml4GAwgASgDSASIAQESGQoRcnVsZV9kaXNwbGF5X25hbWUYDSABKAkSFwoPdm1fZGlzcG\
xheV9uYW1lGA4gASgJGpUCCgRTdGVwEg0KBWV2ZW50GAEgASgJEhUKDWV2ZW50X3VuaXhfbXMYAiABKAMSHQoQcmVjb3JkZWRfdW5peF9tcxgDIAEoA0gAiA\
EBEhMKC2Zyb21fc3RhdGVzGAQgAygJEhEKCXRvX3N0YXRlcxgFIAMoCRI8CgZzb3VyY2UYBiABKA4yLC5zdmMubW9uaXRvcmluZy52MS5BbGVydEluc3Rhbm\
NlLlN0ZXAuU291cmNlIk0KBlNvdXJjZRIWChJTT1VSQ0VfVU5TUEVDSUZJRUQQABIMCghSRUNPUkRFRBABEg0KCUVWQUxVQVRPUhACEg4KClJFQ09NUFVURU\
QQA0ITChFfcmVjb3JkZWRfdW5peF9tcxotCgtMYWJlbHNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBIlEKBVN0YXRlEhUKEVNUQVRFX1\
VOU1BFQ0lGSUVEEAASCAoESURMRRABEg4KClNVU1RBSU5JTkcQAhIKCgZGSVJJTkcQAxILCgdSRVRJUkVEEAQiQgoJRGF0YVN0YXRlEhoKFkRBVEFfU1RBVE\
VfVU5TUEVDSUZJRUQQABIMCghPQlNFUlZFRBABEgsKB01JU1NJTkcQAkINCgtfc2luY2VfdW5peEINCgtfbGFzdF92YWx1ZUIVChNfbGFzdF9vYnNlcnZlZF\
91bml4QhUKE19taXNzaW5nX3NpbmNlX3VuaXhCEAoOX2ZpcmVzX2F0X3VuaXhiBnByb3RvMw");var AlertRuleSpec_Operator={OPERATOR_UNSPECIFIED:0,GREATER_THAN:1,GREATER_THAN_OR_EQUAL:2,LESS_THAN:3,LESS_THAN_OR_EQUAL:4,
EQUAL:5,NOT_EQUAL:6};var file_svc_monitoring_v1_incident=fileDesc("CiBzdmMvbW9uaXRvcmluZy92MS9pbmNpZGVudC5wcm90bxIRc3ZjLm1vbml0b3JpbmcudjEioA\
8KCEluY2lkZW50EgwKBG5hbWUYASABKAkSEQoJcnVsZV9uYW1lGAIgASgJEhQKDHJ1bGVfdmVyc2lvbhgDIAEoAxIZChFydWxlX2Rpc3BsYXlfbmFtZRgEIA\
EoCRIPCgd2bV9uYW1lGAUgASgJEjcKBmxhYmVscxgGIAMoCzInLnN2Yy5tb25pdG9yaW5nLnYxLkluY2lkZW50LkxhYmVsc0VudHJ5EjsKCHNldmVyaXR5GA\
cgASgOMikuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlU3BlYy5TZXZlcml0eRIwCgVzdGF0ZRgIIAEoDjIhLnN2Yy5tb25pdG9yaW5nLnYxLkluY2lkZW\
50LlN0YXRlEj8KDXJldGlyZV9yZWFzb24YCSABKA4yKC5zdmMubW9uaXRvcmluZy52MS5JbmNpZGVudC5SZXRpcmVSZWFzb24SQQoMYWNrbm93bGVkZ2VkGA\
ogASgLMisuc3ZjLm1vbml0b3JpbmcudjEuSW5jaWRlbnQuQWNrbm93bGVkZ2VtZW50Eh8KEnNub296ZWRfdW50aWxfdW5peBgLIAEoA0gAiAEBEj4KCmRhdG\
Ffc3RhdGUYDCABKA4yKi5zdmMubW9uaXRvcmluZy52MS5BbGVydEluc3RhbmNlLkRhdGFTdGF0ZRIUCgxzdGFydGVkX3VuaXgYDSABKAMSEgoKZmlyZWRfdW\
5peBgOIAEoAxIbCg5yZWNvdmVyZWRfdW5peBgPIAEoA0gBiAEBEhIKBXZhbHVlGBAgASgBSAKIAQESEQoJbWV0cmljX2lkGBEgASgJEjsKCG9wZXJhdG9yGB\
IgASgOMikuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlU3BlYy5PcGVyYXRvchIRCgl0aHJlc2hvbGQYEyABKAESJAocY29ycmVjdGVkX2FmdGVyX25vdG\
lmaWNhdGlvbhgUIAEoCBIZCgxyZXRpcmVkX3VuaXgYFSABKANIA4gBARIkChdkYXRhX21pc3Npbmdfc2luY2VfdW5peBgWIAEoA0gEiAEBEkYKE2RhdGFfbW\
lzc2luZ19yZWFzb24YFyABKA4yKS5zdmMubW9uaXRvcmluZy52MS5JbmNpZGVudC5NaXNzaW5nUmVhc29uEhcKD2V2YWx1YXRvcl9lcnJvchgYIAEoCRISCg\
pkYXRhY2VudGVyGBkgASgJEhAKCGhlbGRfdm1zGBogAygJEhUKDWhlbGRfdm1fY291bnQYGyABKAMSGQoRc3VzdGFpbmVkX3NlY29uZHMYHCABKAUSDwoHcm\
VwZWF0cxgdIAEoBRI7Cgh0aW1lbGluZRgeIAMoCzIpLnN2Yy5tb25pdG9yaW5nLnYxLkluY2lkZW50LlRpbWVsaW5lRW50cnkSGwoTYWxlcnRfaW5zdGFuY2\
VfbmFtZRgfIAEoCRJACgtydWxlX2xhYmVscxggIAMoCzIrLnN2Yy5tb25pdG9yaW5nLnYxLkluY2lkZW50LlJ1bGVMYWJlbHNFbnRyeRIUCgxydW5ib29rX3\
RleHQYISABKAkSEwoLcnVuYm9va191cmwYIiABKAkSFwoPdm1fZGlzcGxheV9uYW1lGCMgASgJEhUKDXZtX2RhdGFjZW50ZXIYJCABKAkaPAoPQWNrbm93bG\
VkZ2VtZW50EgoKAmJ5GAEgASgJEg8KB2F0X3VuaXgYAiABKAMSDAoEbm90ZRgDIAEoCRqLAQoNVGltZWxpbmVFbnRyeRIPCgdhdF91bml4GAEgASgDEg0KBW\
V2ZW50GAIgASgJEgoKAmJ5GAMgASgJEg4KBmRldGFpbBgEIAEoCRIVCg1kZWxpdmVyeV9uYW1lGAUgASgJEicKBmZpZWxkcxgGIAEoCzIXLmdvb2dsZS5wcm\
90b2J1Zi5TdHJ1Y3QaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ARoxCg9SdWxlTGFiZWxzRW50cnkSCwoDa2V5GAEgAS\
gJEg0KBXZhbHVlGAIgASgJOgI4ASJGCgVTdGF0ZRIVChFTVEFURV9VTlNQRUNJRklFRBAAEgoKBkZJUklORxABEg0KCVJFQ09WRVJFRBACEgsKB1JFVElSRU\
QQAyJyCgxSZXRpcmVSZWFzb24SHQoZUkVUSVJFX1JFQVNPTl9VTlNQRUNJRklFRBAAEhAKDFJVTEVfQ0hBTkdFRBABEg8KC1JVTEVfUEFVU0VEEAISEAoMUl\
VMRV9ERUxFVEVEEAMSDgoKVk1fREVMRVRFRBAEInMKDU1pc3NpbmdSZWFzb24SHgoaTUlTU0lOR19SRUFTT05fVU5TUEVDSUZJRUQQABILCgdOT19EQVRBEA\
ESDgoKVk1fU1RPUFBFRBACEg8KC0NMT0NLX0FIRUFEEAMSFAoQREFUQUNFTlRFUl9TVEFMRRAEQhUKE19zbm9vemVkX3VudGlsX3VuaXhCEQoPX3JlY292ZX\
JlZF91bml4QggKBl92YWx1ZUIPCg1fcmV0aXJlZF91bml4QhoKGF9kYXRhX21pc3Npbmdfc2luY2VfdW5peCK/AgoUTGlzdEluY2lkZW50c1JlcXVlc3QSFA\
oMcHJvamVjdF9uYW1lGAEgASgJEjAKBXN0YXRlGAIgASgOMiEuc3ZjLm1vbml0b3JpbmcudjEuSW5jaWRlbnQuU3RhdGUSEQoJcnVsZV9uYW1lGAMgASgJEg\
8KB3ZtX25hbWUYBCABKAkSFwoPc3RhcnRfdGltZV91bml4GAUgASgDEhUKDWVuZF90aW1lX3VuaXgYBiABKAMSEQoJcGFnZV9zaXplGAcgASgFEhIKCnBhZ2\
VfdG9rZW4YCCABKAkSPQoKc2V2ZXJpdGllcxgJIAMoDjIpLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0UnVsZVNwZWMuU2V2ZXJpdHkSEQoJYXR0ZW50aW9uGA\
ogASgIEhIKCmRhdGFjZW50ZXIYCyABKAkiYAoVTGlzdEluY2lkZW50c1Jlc3BvbnNlEi4KCWluY2lkZW50cxgBIAMoCzIbLnN2Yy5tb25pdG9yaW5nLnYxLk\
luY2lkZW50EhcKD25leHRfcGFnZV90b2tlbhgCIAEoCSIiChJHZXRJbmNpZGVudFJlcXVlc3QSDAoEbmFtZRgBIAEoCSJDChVXYXRjaEluY2lkZW50c1JlcX\
Vlc3QSFAoMcHJvamVjdF9uYW1lGAEgASgJEhQKDGNoYW5nZXNfb25seRgCIAEoCCL8AQoWV2F0Y2hJbmNpZGVudHNSZXNwb25zZRI8CgRraW5kGAEgASgOMi\
4uc3ZjLm1vbml0b3JpbmcudjEuV2F0Y2hJbmNpZGVudHNSZXNwb25zZS5LaW5kEi4KCWluY2lkZW50cxgCIAMoCzIbLnN2Yy5tb25pdG9yaW5nLnYxLkluY2\
lkZW50EhoKEnNuYXBzaG90X2NvbnRpbnVlcxgDIAEoCBIQCghzZXF1ZW5jZRgEIAEoAyJGCgRLaW5kEhQKEEtJTkRfVU5TUEVDSUZJRUQQABIMCghTTkFQU0\
hPVBABEgsKB0NIQU5HRVMQAhINCglIRUFSVEJFQVQQAyJMChpBY2tub3dsZWRnZUluY2lkZW50UmVxdWVzdBIMCgRuYW1lGAEgASgJEhIKCnJlcXVlc3RfaW\
QYAiABKAkSDAoEbm90ZRgDIAEoCSJNChVTbm9vemVJbmNpZGVudFJlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEhIKCnVudGlsX3\
VuaXgYAyABKAMiZAobQWNrbm93bGVkZ2VJbmNpZGVudHNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEg0KBW5hbW\
VzGAMgAygJEgwKBG5vdGUYBCABKAkiUgocQWNrbm93bGVkZ2VJbmNpZGVudHNSZXNwb25zZRIyCgdyZXN1bHRzGAEgAygLMiEuc3ZjLm1vbml0b3Jpbmcudj\
EuSW5jaWRlbnRSZXN1bHQiZQoWU25vb3plSW5jaWRlbnRzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEgoKcmVxdWVzdF9pZBgCIAEoCRINCgVuYW\
1lcxgDIAMoCRISCgp1bnRpbF91bml4GAQgASgDIk0KF1Nub296ZUluY2lkZW50c1Jlc3BvbnNlEjIKB3Jlc3VsdHMYASADKAsyIS5zdmMubW9uaXRvcmluZy\
52MS5JbmNpZGVudFJlc3VsdCJ6Cg5JbmNpZGVudFJlc3VsdBIMCgRuYW1lGAEgASgJEi0KCGluY2lkZW50GAIgASgLMhsuc3ZjLm1vbml0b3JpbmcudjEuSW\
5jaWRlbnQSFAoMZXJyb3JfcmVhc29uGAMgASgJEhUKDWVycm9yX21lc3NhZ2UYBCABKAkiOwoXVW5zbm9vemVJbmNpZGVudFJlcXVlc3QSDAoEbmFtZRgBIA\
EoCRISCgpyZXF1ZXN0X2lkGAIgASgJIiYKFkV4cGxhaW5JbmNpZGVudFJlcXVlc3QSDAoEbmFtZRgBIAEoCSLuCAoXRXhwbGFpbkluY2lkZW50UmVzcG9uc2\
USLQoIaW5jaWRlbnQYASABKAsyGy5zdmMubW9uaXRvcmluZy52MS5JbmNpZGVudBJHCgljb25kaXRpb24YAiABKAsyNC5zdmMubW9uaXRvcmluZy52MS5FeH\
BsYWluSW5jaWRlbnRSZXNwb25zZS5Db25kaXRpb24SQQoGd2luZG93GAMgAygLMjEuc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkluY2lkZW50UmVzcG9uc2\
UuU2FtcGxlEhYKDndpbmRvd190aGlubmVkGAQgASgIEjwKBGdhcHMYBSADKAsyLi5zdmMubW9uaXRvcmluZy52MS5FeHBsYWluSW5jaWRlbnRSZXNwb25zZS\
5HYXASTwoNcmVjb21wdXRhdGlvbhgGIAEoCzI4LnN2Yy5tb25pdG9yaW5nLnYxLkV4cGxhaW5JbmNpZGVudFJlc3BvbnNlLlJlY29tcHV0YXRpb24SDwoHc3\
VtbWFyeRgHIAEoCRpDCgZTYW1wbGUSGAoQb2JzZXJ2ZWRfdW5peF9tcxgBIAEoAxINCgV2YWx1ZRgCIAEoARIQCghicmVhY2hlcxgDIAEoCBpECgNHYXASFQ\
oNc3RhcnRfdW5peF9tcxgBIAEoAxITCgtlbmRfdW5peF9tcxgCIAEoAxIRCgl0b2xlcmF0ZWQYAyABKAgaogIKCUNvbmRpdGlvbhIRCgltZXRyaWNfaWQYAS\
ABKAkSDAoEdW5pdBgCIAEoCRI7CghvcGVyYXRvchgDIAEoDjIpLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0UnVsZVNwZWMuT3BlcmF0b3ISEQoJdGhyZXNob2\
xkGAQgASgBEhkKEXN1c3RhaW5lZF9zZWNvbmRzGAUgASgFEh8KEnJlY292ZXJ5X3RocmVzaG9sZBgGIAEoAUgAiAEBEh0KEHJlY292ZXJ5X3NlY29uZHMYBy\
ABKAVIAYgBARIdChVnYXBfdG9sZXJhbmNlX3NlY29uZHMYCCABKAVCFQoTX3JlY292ZXJ5X3RocmVzaG9sZEITChFfcmVjb3Zlcnlfc2Vjb25kcxqvAgoNUm\
Vjb21wdXRhdGlvbhJPCgZzdGF0dXMYASABKA4yPy5zdmMubW9uaXRvcmluZy52MS5FeHBsYWluSW5jaWRlbnRSZXNwb25zZS5SZWNvbXB1dGF0aW9uLlN0YX\
R1cxIOCgZkZXRhaWwYAiABKAkSHAoPc3RhcnRlZF91bml4X21zGAMgASgDSACIAQESIwoWZmlyZWRfb2JzZXJ2ZWRfdW5peF9tcxgEIAEoA0gBiAEBIksKBl\
N0YXR1cxIWChJTVEFUVVNfVU5TUEVDSUZJRUQQABIKCgZBR1JFRVMQARILCgdESUZGRVJTEAISEAoMTk9UX1BPU1NJQkxFEANCEgoQX3N0YXJ0ZWRfdW5peF\
9tc0IZChdfZmlyZWRfb2JzZXJ2ZWRfdW5peF9tc2IGcHJvdG8z",[file_google_protobuf_struct,file_svc_monitoring_v1_rule]);var Incident_State={STATE_UNSPECIFIED:0,FIRING:1,RECOVERED:2,RETIRED:3};var file_svc_monitoring_v1_monitoring=fileDesc("CiJzdmMvbW9uaXRvcmluZy92MS9tb25pdG9yaW5nLnByb3RvEhFzdmMubW9uaXRvcmluZy52\
MSLJAQoYUXVlcnlWTU1vbml0b3JpbmdSZXF1ZXN0EgwKBG5hbWUYASABKAkSEgoKbWV0cmljX2lkcxgCIAMoCRIcCg9zdGFydF90aW1lX3VuaXgYAyABKANI\
AIgBARIaCg1lbmRfdGltZV91bml4GAQgASgDSAGIAQESFAoMc3RlcF9zZWNvbmRzGAUgASgFEhUKDXdpdGhfZXh0cmVtZXMYBiABKAhCEgoQX3N0YXJ0X3Rp\
bWVfdW5peEIQCg5fZW5kX3RpbWVfdW5peCK5AQoZUXVlcnlWTU1vbml0b3JpbmdSZXNwb25zZRIXCg9zdGFydF90aW1lX3VuaXgYASABKAMSFQoNZW5kX3Rp\
bWVfdW5peBgCIAEoAxIUCgxzdGVwX3NlY29uZHMYAyABKAUSKwoHcXVhbGl0eRgEIAEoCzIaLnN2Yy5tb25pdG9yaW5nLnYxLlF1YWxpdHkSKQoGc2VyaWVz\
GAUgAygLMhkuc3ZjLm1vbml0b3JpbmcudjEuU2VyaWVzIrkBCgZTZXJpZXMSEQoJbWV0cmljX2lkGAEgASgJEgwKBHVuaXQYAiABKAkSNQoGbGFiZWxzGAMg\
AygLMiUuc3ZjLm1vbml0b3JpbmcudjEuU2VyaWVzLkxhYmVsc0VudHJ5EigKBnBvaW50cxgEIAMoCzIYLnN2Yy5tb25pdG9yaW5nLnYxLlBvaW50Gi0KC0xh\
YmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEibAoFUG9pbnQSEQoJdGltZV91bml4GAEgASgDEhIKBXZhbHVlGAIgASgBSACIAQES\
EAoDbWluGAMgASgBSAGIAQESEAoDbWF4GAQgASgBSAKIAQFCCAoGX3ZhbHVlQgYKBF9taW5CBgoEX21heCK+AwoHUXVhbGl0eRIvCgVzdGF0ZRgBIAEoDjIg\
LnN2Yy5tb25pdG9yaW5nLnYxLlF1YWxpdHkuU3RhdGUSHwoSbGFzdF9vYnNlcnZlZF91bml4GAIgASgDSACIAQESGAoQZGF0YWNlbnRlcl9zdGF0ZRgDIAEo\
CRIYChBleHBlY3RlZF9zYW1wbGVzGAQgASgDEhgKEG9ic2VydmVkX3NhbXBsZXMYBSABKAMSJAoEZ2FwcxgGIAMoCzIWLnN2Yy5tb25pdG9yaW5nLnYxLkdh\
cBIxCgdtZXRyaWNzGAcgAygLMiAuc3ZjLm1vbml0b3JpbmcudjEuTWV0cmljUXVhbGl0eRIPCgdyZWFzb25zGAggAygJEjgKCmltcG9zc2libGUYCSADKAsy\
JC5zdmMubW9uaXRvcmluZy52MS5JbXBvc3NpYmxlUmVhZGluZyJYCgVTdGF0ZRIVChFTVEFURV9VTlNQRUNJRklFRBAAEggKBExJVkUQARIJCgVTVEFMRRAC\
EgsKB1BBUlRJQUwQAxILCgdOT19EQVRBEAQSCQoFRVJST1IQBUIVChNfbGFzdF9vYnNlcnZlZF91bml4IrkBChFJbXBvc3NpYmxlUmVhZGluZxIRCgltZXRy\
aWNfaWQYASABKAkSQAoGbGFiZWxzGAIgAygLMjAuc3ZjLm1vbml0b3JpbmcudjEuSW1wb3NzaWJsZVJlYWRpbmcuTGFiZWxzRW50cnkSEQoJdGltZV91bml4\
GAMgASgDEg0KBXZhbHVlGAQgASgBGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEiOwoDR2FwEhIKCnN0YXJ0X3VuaXgY\
ASABKAMSEAoIZW5kX3VuaXgYAiABKAMSDgoGcmVhc29uGAMgASgJInEKDU1ldHJpY1F1YWxpdHkSEQoJbWV0cmljX2lkGAEgASgJEi8KBXN0YXRlGAIgASgO\
MiAuc3ZjLm1vbml0b3JpbmcudjEuUXVhbGl0eS5TdGF0ZRIOCgZyZWFzb24YAyABKAkSDAoEaGVscBgEIAEoCSLJAQoXTGlzdFZNTW9uaXRvcmluZ1JlcXVl\
c3QSFAoMcHJvamVjdF9uYW1lGAEgASgJEhEKCXBhZ2Vfc2l6ZRgCIAEoBRIWCg5pbnZlbnRvcnlfb25seRgDIAEoCBISCgpwYWdlX3Rva2VuGAQgASgJEg4K\
BnNlYXJjaBgFIAEoCRI1CgZzdGF0ZXMYBiADKA4yJS5zdmMubW9uaXRvcmluZy52MS5WTU1vbml0b3JpbmcuU3RhdGUSEgoKZGF0YWNlbnRlchgHIAEoCSJ1\
ChhMaXN0Vk1Nb25pdG9yaW5nUmVzcG9uc2USLAoDdm1zGAEgAygLMh8uc3ZjLm1vbml0b3JpbmcudjEuVk1Nb25pdG9yaW5nEhcKD25leHRfcGFnZV90b2tl\
bhgCIAEoCRISCgp0b3RhbF9zaXplGAMgASgFIiYKFkdldFZNTW9uaXRvcmluZ1JlcXVlc3QSDAoEbmFtZRgBIAEoCSL6BAoMVk1Nb25pdG9yaW5nEgwKBG5h\
bWUYASABKAkSFAoMZGlzcGxheV9uYW1lGAIgASgJEjQKBXN0YXRlGAMgASgOMiUuc3ZjLm1vbml0b3JpbmcudjEuVk1Nb25pdG9yaW5nLlN0YXRlEhIKCmRh\
dGFjZW50ZXIYBCABKAkSEgoFdmNwdXMYBSABKAVIAIgBARIvCgl0ZWxlbWV0cnkYBiABKAsyHC5zdmMubW9uaXRvcmluZy52MS5UZWxlbWV0cnkSGwoTZXhw\
YW5kZWRfbW9uaXRvcmluZxgHIAEoCBIgChNjcHVfdXRpbGl6YXRpb25fcGN0GAggASgBSAGIAQESHgoRbWVtb3J5X3VzZWRfYnl0ZXMYCSABKAFIAogBARI3\
CghleHBhbmRlZBgKIAEoCzIlLnN2Yy5tb25pdG9yaW5nLnYxLkV4cGFuZGVkTW9uaXRvcmluZxI+CgpsYXN0X3N0YXRlGAsgASgOMiUuc3ZjLm1vbml0b3Jp\
bmcudjEuVk1Nb25pdG9yaW5nLlN0YXRlSAOIAQESIAoTc3RhdGVfb2JzZXJ2ZWRfdW5peBgMIAEoA0gEiAEBIl4KBVN0YXRlEhUKEVNUQVRFX1VOU1BFQ0lG\
SUVEEAASCwoHUlVOTklORxABEgoKBlBBVVNFRBACEgsKB1NUT1BQRUQQAxILCgdDUkFTSEVEEAQSCwoHVU5LTk9XThAFQggKBl92Y3B1c0IWChRfY3B1X3V0\
aWxpemF0aW9uX3BjdEIUChJfbWVtb3J5X3VzZWRfYnl0ZXNCDQoLX2xhc3Rfc3RhdGVCFgoUX3N0YXRlX29ic2VydmVkX3VuaXgioQIKEkV4cGFuZGVkTW9u\
aXRvcmluZxIRCglhdmFpbGFibGUYASABKAgSDgoGcmVhc29uGAIgASgJEjoKBXN0YXRlGAMgASgOMisuc3ZjLm1vbml0b3JpbmcudjEuRXhwYW5kZWRNb25p\
dG9yaW5nLlN0YXRlEh8KEnRva2VuX2V4cGlyZXNfdW5peBgEIAEoA0gAiAEBEh8KEmxhc3Rfb2JzZXJ2ZWRfdW5peBgFIAEoA0gBiAEBIjwKBVN0YXRlEhUK\
EVNUQVRFX1VOU1BFQ0lGSUVEEAASBwoDT0ZGEAESCwoHT0ZGRVJFRBACEgYKAk9OEANCFQoTX3Rva2VuX2V4cGlyZXNfdW5peEIVChNfbGFzdF9vYnNlcnZl\
ZF91bml4IsEBCglUZWxlbWV0cnkSMQoFc3RhdGUYASABKA4yIi5zdmMubW9uaXRvcmluZy52MS5UZWxlbWV0cnkuU3RhdGUSHwoSbGFzdF9vYnNlcnZlZF91\
bml4GAIgASgDSACIAQEiSQoFU3RhdGUSFQoRU1RBVEVfVU5TUEVDSUZJRUQQABIICgRMSVZFEAESCQoFU1RBTEUQAhIJCgVORVZFUhADEgkKBUVSUk9SEARC\
FQoTX2xhc3Rfb2JzZXJ2ZWRfdW5peCI0ChxMaXN0TWV0cmljRGVzY3JpcHRvcnNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCSJZCh1MaXN0TWV0cmlj\
RGVzY3JpcHRvcnNSZXNwb25zZRI4CgtkZXNjcmlwdG9ycxgBIAMoCzIjLnN2Yy5tb25pdG9yaW5nLnYxLk1ldHJpY0Rlc2NyaXB0b3IifgoQTWV0cmljRGVz\
Y3JpcHRvchIRCgltZXRyaWNfaWQYASABKAkSDAoEdW5pdBgCIAEoCRIOCgZzb3VyY2UYAyABKAkSEwoLcHJvbXFsX25hbWUYBCABKAkSEgoKbGltaXRhdGlv\
bhgFIAEoCRIQCghleHBhbmRlZBgGIAEoCCIvChdHZXRQcm9qZWN0TGltaXRzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkiSwoYR2V0UHJvamVjdExp\
bWl0c1Jlc3BvbnNlEi8KBmxpbWl0cxgBIAMoCzIfLnN2Yy5tb25pdG9yaW5nLnYxLlByb2plY3RMaW1pdCJqCgxQcm9qZWN0TGltaXQSDAoEbmFtZRgBIAEo\
CRINCgVsaW1pdBgCIAEoAxIRCgR1c2VkGAMgASgDSACIAQESDAoEdW5pdBgEIAEoCRITCgtkZXNjcmlwdGlvbhgFIAEoCUIHCgVfdXNlZDLlBAoRTW9uaXRv\
cmluZ1NlcnZpY2USeAoRUXVlcnlWTU1vbml0b3JpbmcSKy5zdmMubW9uaXRvcmluZy52MS5RdWVyeVZNTW9uaXRvcmluZ1JlcXVlc3QaLC5zdmMubW9uaXRv\
cmluZy52MS5RdWVyeVZNTW9uaXRvcmluZ1Jlc3BvbnNlIgiKtRgECAEgARJ1ChBMaXN0Vk1Nb25pdG9yaW5nEiouc3ZjLm1vbml0b3JpbmcudjEuTGlzdFZN\
TW9uaXRvcmluZ1JlcXVlc3QaKy5zdmMubW9uaXRvcmluZy52MS5MaXN0Vk1Nb25pdG9yaW5nUmVzcG9uc2UiCIq1GAQIASABEmUKD0dldFZNTW9uaXRvcmlu\
ZxIpLnN2Yy5tb25pdG9yaW5nLnYxLkdldFZNTW9uaXRvcmluZ1JlcXVlc3QaHy5zdmMubW9uaXRvcmluZy52MS5WTU1vbml0b3JpbmciBoq1GAIIARKCAQoV\
TGlzdE1ldHJpY0Rlc2NyaXB0b3JzEi8uc3ZjLm1vbml0b3JpbmcudjEuTGlzdE1ldHJpY0Rlc2NyaXB0b3JzUmVxdWVzdBowLnN2Yy5tb25pdG9yaW5nLnYx\
Lkxpc3RNZXRyaWNEZXNjcmlwdG9yc1Jlc3BvbnNlIgaKtRgCCAEScwoQR2V0UHJvamVjdExpbWl0cxIqLnN2Yy5tb25pdG9yaW5nLnYxLkdldFByb2plY3RM\
aW1pdHNSZXF1ZXN0Gisuc3ZjLm1vbml0b3JpbmcudjEuR2V0UHJvamVjdExpbWl0c1Jlc3BvbnNlIgaKtRgCCAFiBnByb3RvMw",[file_svc_options_v1_policy]);var MonitoringService=serviceDesc(file_svc_monitoring_v1_monitoring,0);var file_svc_monitoring_v1_alert=fileDesc("Ch1zdmMvbW9uaXRvcmluZy92MS9hbGVydC5wcm90bxIRc3ZjLm1vbml0b3JpbmcudjEirgIKF1ByZ\
XZpZXdBbGVydFJ1bGVSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCRIuCgRzcGVjGAIgASgLMiAuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlU3BlY\
xIXCg9oaXN0b3J5X3NlY29uZHMYAyABKAUSFQoNdHJhY2Vfdm1fbmFtZRgEIAEoCRJRCgx0cmFjZV9sYWJlbHMYBSADKAsyOy5zdmMubW9uaXRvcmluZy52M\
S5QcmV2aWV3QWxlcnRSdWxlUmVxdWVzdC5UcmFjZUxhYmVsc0VudHJ5EhYKDndpdGhfaW5zdGFuY2VzGAYgASgIGjIKEFRyYWNlTGFiZWxzRW50cnkSCwoDa\
2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASLOCQoYUHJldmlld0FsZXJ0UnVsZVJlc3BvbnNlEk0KDHF1ZXJ5X3N0YXR1cxgBIAEoDjI3LnN2Yy5tb25pd\
G9yaW5nLnYxLlByZXZpZXdBbGVydFJ1bGVSZXNwb25zZS5RdWVyeVN0YXR1cxJCCg5oaXN0b3J5X3N0YXR1cxgCIAEoDjIqLnN2Yy5tb25pdG9yaW5nLnYxL\
lByZXZpZXdlZEhpc3RvcnkuU3RhdHVzEhkKEWV2YWx1YXRlZF9zYW1wbGVzGAMgASgDEhgKEGV4cGVjdGVkX3NhbXBsZXMYBCABKAMSTAoQd291bGRfaGF2Z\
V9maXJlZBgFIAMoCzIyLnN2Yy5tb25pdG9yaW5nLnYxLlByZXZpZXdBbGVydFJ1bGVSZXNwb25zZS5GaXJpbmcSEQoJdHJ1bmNhdGVkGAYgASgIEj4KBXRyY\
WNlGAcgASgLMi8uc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkFsZXJ0SW5zdGFuY2VSZXNwb25zZRJHCglpbnN0YW5jZXMYCCADKAsyNC5zdmMubW9uaXRvc\
mluZy52MS5QcmV2aWV3QWxlcnRSdWxlUmVzcG9uc2UuSW5zdGFuY2USGQoRaW5zdGFuY2VzX29taXR0ZWQYCSABKAMSEwoLdW5rbm93bl92bXMYCiABKAMSG\
AoQdW5rbm93bl92bV9uYW1lcxgLIAMoCRIVCg1zdGFydF91bml4X21zGAwgASgDEhMKC2VuZF91bml4X21zGA0gASgDEiAKGHVua25vd25fdm1fZGlzcGxhe\
V9uYW1lcxgOIAMoCRrpAQoGRmlyaW5nEg8KB3ZtX25hbWUYASABKAkSTgoGbGFiZWxzGAIgAygLMj4uc3ZjLm1vbml0b3JpbmcudjEuUHJldmlld0FsZXJ0U\
nVsZVJlc3BvbnNlLkZpcmluZy5MYWJlbHNFbnRyeRISCgpzdGFydF91bml4GAMgASgDEhUKCGVuZF91bml4GAQgASgDSACIAQESFwoPdm1fZGlzcGxheV9uY\
W1lGAUgASgJGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCCwoJX2VuZF91bml4Gq0CCghJbnN0YW5jZRIPCgd2bV9uY\
W1lGAEgASgJElAKBmxhYmVscxgCIAMoCzJALnN2Yy5tb25pdG9yaW5nLnYxLlByZXZpZXdBbGVydFJ1bGVSZXNwb25zZS5JbnN0YW5jZS5MYWJlbHNFbnRye\
RIPCgdmaXJpbmdzGAMgASgFEkkKCHNlZ21lbnRzGAQgAygLMjcuc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkFsZXJ0SW5zdGFuY2VSZXNwb25zZS5TZWdtZ\
W50EhoKEnNlZ21lbnRzX3RydW5jYXRlZBgFIAEoCBIXCg92bV9kaXNwbGF5X25hbWUYBiABKAkaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhb\
HVlGAIgASgJOgI4ASJMCgtRdWVyeVN0YXR1cxIcChhRVUVSWV9TVEFUVVNfVU5TUEVDSUZJRUQQABIGCgJPSxABEgsKB1BBUlRJQUwQAhIKCgZGQUlMRUQQA\
yJZChBQcmV2aWV3ZWRIaXN0b3J5IkUKBlN0YXR1cxIWChJTVEFUVVNfVU5TUEVDSUZJRUQQABIMCghDT01QTEVURRABEgsKB1BBUlRJQUwQAhIICgROT05FE\
AMiiQEKFlJlcGxheUFsZXJ0UnVsZVJlcXVlc3QSFAoMcHJvamVjdF9uYW1lGAEgASgJEi4KBHNwZWMYAiABKAsyIC5zdmMubW9uaXRvcmluZy52MS5BbGVyd\
FJ1bGVTcGVjEhcKD2hpc3Rvcnlfc2Vjb25kcxgDIAEoBRIQCgh2bV9uYW1lcxgEIAMoCSKsBgoXUmVwbGF5QWxlcnRSdWxlUmVzcG9uc2USTgoNbm90aWZpY\
2F0aW9ucxgBIAMoCzI3LnN2Yy5tb25pdG9yaW5nLnYxLlJlcGxheUFsZXJ0UnVsZVJlc3BvbnNlLk5vdGlmaWNhdGlvbhIRCgl0cnVuY2F0ZWQYAiABKAgSF\
woPc3RhcnRfdGltZV91bml4GAMgASgDEhUKDWVuZF90aW1lX3VuaXgYBCABKAMSEAoIdm1fbmFtZXMYBSADKAkSFwoPdW5yZWFkX3ZtX25hbWVzGAYgAygJE\
hgKEG9ic2VydmVkX3NhbXBsZXMYByABKAMSGAoQZXhwZWN0ZWRfc2FtcGxlcxgIIAEoAxIfChd1bnJlYWRfdm1fZGlzcGxheV9uYW1lcxgJIAMoCRr9AwoMT\
m90aWZpY2F0aW9uEg8KB2F0X3VuaXgYASABKAMSMAoFZXZlbnQYAiABKA4yIS5zdmMubW9uaXRvcmluZy52MS5EZWxpdmVyeS5FdmVudBIPCgd2bV9uYW1lG\
AMgASgJElMKBmxhYmVscxgEIAMoCzJDLnN2Yy5tb25pdG9yaW5nLnYxLlJlcGxheUFsZXJ0UnVsZVJlc3BvbnNlLk5vdGlmaWNhdGlvbi5MYWJlbHNFbnRye\
RIdChBkZXN0aW5hdGlvbl9uYW1lGAUgASgJSACIAQESMgoHb3V0Y29tZRgGIAEoDjIhLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGl2ZXJ5LlN0YXRlEg4KBnJlY\
XNvbhgHIAEoCRIRCgRib2R5GAggASgJSAGIAQESFgoJcmVjaXBpZW50GAkgASgJSAKIAQESFwoPdm1fZGlzcGxheV9uYW1lGAogASgJEiUKGGRlc3RpbmF0a\
W9uX2Rpc3BsYXlfbmFtZRgLIAEoCUgDiAEBGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCEwoRX2Rlc3RpbmF0aW9uX\
25hbWVCBwoFX2JvZHlCDAoKX3JlY2lwaWVudEIbChlfZGVzdGluYXRpb25fZGlzcGxheV9uYW1lIpYBChRTYXZlQWxlcnRSdWxlUmVxdWVzdBIuCgRzcGVjG\
AEgASgLMiAuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlU3BlYxIKCgJpZBgCIAEoCRISCgpyZXF1ZXN0X2lkGAMgASgJEhgKEGV4cGVjdGVkX3ZlcnNpb\
24YBCABKAkSFAoMcHJvamVjdF9uYW1lGAUgASgJIqEBChVTYXZlQWxlcnRSdWxlUmVzcG9uc2USFwoPYXBwbGllZF92ZXJzaW9uGAEgASgDEjwKC3N5bmNfc\
3RhdHVzGAIgASgOMicuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlLlN5bmNTdGF0dXMSDAoEbmFtZRgDIAEoCRIPCgd2ZXJzaW9uGAQgASgDEhIKCnN5b\
mNfZXJyb3IYBSABKAkiIwoTR2V0QWxlcnRSdWxlUmVxdWVzdBIMCgRuYW1lGAEgASgJIlQKFUxpc3RBbGVydFJ1bGVzUmVxdWVzdBIUCgxwcm9qZWN0X25hb\
WUYASABKAkSEQoJcGFnZV9zaXplGAIgASgFEhIKCnBhZ2VfdG9rZW4YAyABKAkiXgoWTGlzdEFsZXJ0UnVsZXNSZXNwb25zZRIrCgVydWxlcxgBIAMoCzIcL\
nN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0UnVsZRIXCg9uZXh0X3BhZ2VfdG9rZW4YAiABKAkiVAoWRGVsZXRlQWxlcnRSdWxlUmVxdWVzdBIMCgRuYW1lGAEgA\
SgJEhIKCnJlcXVlc3RfaWQYAiABKAkSGAoQZXhwZWN0ZWRfdmVyc2lvbhgDIAEoCSIZChdEZWxldGVBbGVydFJ1bGVSZXNwb25zZSL0AQoZTGlzdEFsZXJ0S\
W5zdGFuY2VzUmVxdWVzdBIUCgxwcm9qZWN0X25hbWUYASABKAkSEQoJcnVsZV9uYW1lGAIgASgJEhEKCXBhZ2Vfc2l6ZRgDIAEoBRISCgpwYWdlX3Rva2VuG\
AQgASgJEjYKBnN0YXRlcxgFIAMoDjImLnN2Yy5tb25pdG9yaW5nLnYxLkFsZXJ0SW5zdGFuY2UuU3RhdGUSDwoHdm1fbmFtZRgGIAEoCRI+CgpkYXRhX3N0Y\
XRlGAcgASgOMiouc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRJbnN0YW5jZS5EYXRhU3RhdGUiagoaTGlzdEFsZXJ0SW5zdGFuY2VzUmVzcG9uc2USMwoJaW5zd\
GFuY2VzGAEgAygLMiAuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRJbnN0YW5jZRIXCg9uZXh0X3BhZ2VfdG9rZW4YAiABKAkiwgEKF0dldEFsZXJ0SW5zdGFuY\
2VSZXF1ZXN0EgwKBG5hbWUYASABKAkSEQoJcnVsZV9uYW1lGAIgASgJEg8KB3ZtX25hbWUYAyABKAkSRgoGbGFiZWxzGAQgAygLMjYuc3ZjLm1vbml0b3Jpb\
mcudjEuR2V0QWxlcnRJbnN0YW5jZVJlcXVlc3QuTGFiZWxzRW50cnkaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASL6A\
QobRXhwbGFpbkFsZXJ0SW5zdGFuY2VSZXF1ZXN0EgwKBG5hbWUYASABKAkSEQoJcnVsZV9uYW1lGAIgASgJEg8KB3ZtX25hbWUYAyABKAkSSgoGbGFiZWxzG\
AQgAygLMjouc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkFsZXJ0SW5zdGFuY2VSZXF1ZXN0LkxhYmVsc0VudHJ5EhcKD3N0YXJ0X3RpbWVfdW5peBgFIAEoA\
xIVCg1lbmRfdGltZV91bml4GAYgASgDGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEi+wUKHEV4cGxhaW5BbGVydEluc\
3RhbmNlUmVzcG9uc2USEQoJcnVsZV9uYW1lGAEgASgJEg8KB3ZtX25hbWUYAiABKAkSSwoGbGFiZWxzGAMgAygLMjsuc3ZjLm1vbml0b3JpbmcudjEuRXhwb\
GFpbkFsZXJ0SW5zdGFuY2VSZXNwb25zZS5MYWJlbHNFbnRyeRJHCgljb25kaXRpb24YBCABKAsyNC5zdmMubW9uaXRvcmluZy52MS5FeHBsYWluSW5jaWRlb\
nRSZXNwb25zZS5Db25kaXRpb24SQgoHc2FtcGxlcxgFIAMoCzIxLnN2Yy5tb25pdG9yaW5nLnYxLkV4cGxhaW5JbmNpZGVudFJlc3BvbnNlLlNhbXBsZRI8C\
gRnYXBzGAYgAygLMi4uc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkluY2lkZW50UmVzcG9uc2UuR2FwEkkKCHNlZ21lbnRzGAcgAygLMjcuc3ZjLm1vbml0b\
3JpbmcudjEuRXhwbGFpbkFsZXJ0SW5zdGFuY2VSZXNwb25zZS5TZWdtZW50EjMKBHBhdGgYCCADKAsyJS5zdmMubW9uaXRvcmluZy52MS5BbGVydEluc3Rhb\
mNlLlN0ZXASGQoRcnVsZV9kaXNwbGF5X25hbWUYCSABKAkSFwoPdm1fZGlzcGxheV9uYW1lGAogASgJGrsBCgdTZWdtZW50EjUKBXN0YXRlGAEgASgOMiYuc\
3ZjLm1vbml0b3JpbmcudjEuQWxlcnRJbnN0YW5jZS5TdGF0ZRI+CgpkYXRhX3N0YXRlGAIgASgOMiouc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRJbnN0YW5jZ\
S5EYXRhU3RhdGUSFQoNc3RhcnRfdW5peF9tcxgDIAEoAxITCgtlbmRfdW5peF9tcxgEIAEoAxINCgVjYXVzZRgFIAEoCRotCgtMYWJlbHNFbnRyeRILCgNrZ\
XkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBIjUKHUxpc3RBbGVydFJ1bGVUZW1wbGF0ZXNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCSJZCh5MaXN0Q\
WxlcnRSdWxlVGVtcGxhdGVzUmVzcG9uc2USNwoJdGVtcGxhdGVzGAEgAygLMiQuc3ZjLm1vbml0b3JpbmcudjEuQWxlcnRSdWxlVGVtcGxhdGUibQoRQWxlc\
nRSdWxlVGVtcGxhdGUSEwoLdGVtcGxhdGVfaWQYASABKAkSEwoLZGVzY3JpcHRpb24YAiABKAkSLgoEc3BlYxgDIAEoCzIgLnN2Yy5tb25pdG9yaW5nLnYxL\
kFsZXJ0UnVsZVNwZWMiUQoSTGlzdE5vdGljZXNSZXF1ZXN0EhQKDHByb2plY3RfbmFtZRgBIAEoCRIRCglwYWdlX3NpemUYAiABKAUSEgoKcGFnZV90b2tlb\
hgDIAEoCSJaChNMaXN0Tm90aWNlc1Jlc3BvbnNlEioKB25vdGljZXMYASADKAsyGS5zdmMubW9uaXRvcmluZy52MS5Ob3RpY2USFwoPbmV4dF9wYWdlX3Rva\
2VuGAIgASgJItkCCgZOb3RpY2USDAoEbmFtZRgBIAEoCRIsCgRraW5kGAIgASgOMh4uc3ZjLm1vbml0b3JpbmcudjEuTm90aWNlLktpbmQSFAoMc3ViamVjd\
F9uYW1lGAMgASgJEgwKBHRleHQYBCABKAkSEwoLcmFpc2VkX3VuaXgYBSABKAMSFwoKZW5kZWRfdW5peBgGIAEoA0gAiAEBIrEBCgRLaW5kEhQKEEtJTkRfV\
U5TUEVDSUZJRUQQABISCg5JTlNUQU5DRV9MSU1JVBABEhYKEkRFU1RJTkFUSU9OX1BBVVNFRBACEhUKEVJFQ0lQSUVOVF9CT1VOQ0VEEAMSEgoOQUNDRVNTX\
0NIQU5HRUQQBBIUChBSRUFESU5HU19SRUZVU0VEEAUSEAoMVk1fQ09OVEVTVEVEEAYSFAoQTUVTU0FHRVNfUkVGVVNFRBAHQg0KC19lbmRlZF91bml4IjEKG\
UdldFByb2plY3RPdmVydmlld1JlcXVlc3QSFAoMcHJvamVjdF9uYW1lGAEgASgJIvQICg9Qcm9qZWN0T3ZlcnZpZXcSFAoMY291bnRlZF91bml4GAEgASgDE\
jgKA3ZtcxgCIAEoCzIrLnN2Yy5tb25pdG9yaW5nLnYxLlByb2plY3RPdmVydmlldy5WTUNvdW50cxJFCgl0ZWxlbWV0cnkYAyABKAsyMi5zdmMubW9uaXRvc\
mluZy52MS5Qcm9qZWN0T3ZlcnZpZXcuVGVsZW1ldHJ5Q291bnRzEkQKCWluY2lkZW50cxgEIAEoCzIxLnN2Yy5tb25pdG9yaW5nLnYxLlByb2plY3RPdmVyd\
mlldy5JbmNpZGVudENvdW50cxI8CgVydWxlcxgFIAEoCzItLnN2Yy5tb25pdG9yaW5nLnYxLlByb2plY3RPdmVydmlldy5SdWxlQ291bnRzEkUKCmRlbGl2Z\
XJpZXMYBiABKAsyMS5zdmMubW9uaXRvcmluZy52MS5Qcm9qZWN0T3ZlcnZpZXcuRGVsaXZlcnlDb3VudHMSLwoGbGltaXRzGAcgAygLMh8uc3ZjLm1vbml0b\
3JpbmcudjEuUHJvamVjdExpbWl0EkIKC2RhdGFjZW50ZXJzGAggAygLMi0uc3ZjLm1vbml0b3JpbmcudjEuUHJvamVjdE92ZXJ2aWV3LkRhdGFjZW50ZXIaK\
woIVk1Db3VudHMSDQoFdG90YWwYASABKAMSEAoIZXhwYW5kZWQYAiABKAMaTAoPVGVsZW1ldHJ5Q291bnRzEgwKBGxpdmUYASABKAMSDQoFc3RhbGUYAiABK\
AMSDQoFbmV2ZXIYAyABKAMSDQoFZXJyb3IYBCABKAMaiwEKDkluY2lkZW50Q291bnRzEg4KBmZpcmluZxgBIAEoAxIRCglhdHRlbnRpb24YAiABKAMSFAoMY\
WNrbm93bGVkZ2VkGAMgASgDEg8KB3Nub296ZWQYBCABKAMSEAoIY3JpdGljYWwYBSABKAMSDwoHd2FybmluZxgGIAEoAxIMCgRpbmZvGAcgASgDGk4KClJ1b\
GVDb3VudHMSDwoHYXBwbGllZBgBIAEoAxIPCgdwZW5kaW5nGAIgASgDEg4KBmZhaWxlZBgDIAEoAxIOCgZwYXVzZWQYBCABKAMaZgoORGVsaXZlcnlDb3Vud\
HMSEQoJdW5kZXJfd2F5GAEgASgDEgwKBHNlbnQYAiABKAMSEgoKc3VwcHJlc3NlZBgDIAEoAxIPCgdleHBpcmVkGAQgASgDEg4KBmZhaWxlZBgFIAEoAxrIA\
QoKRGF0YWNlbnRlchIMCgRuYW1lGAEgASgJEkIKBXN0YXRlGAIgASgOMjMuc3ZjLm1vbml0b3JpbmcudjEuUHJvamVjdE92ZXJ2aWV3LkRhdGFjZW50ZXIuU\
3RhdGUSFwoKc2luY2VfdW5peBgDIAEoA0gAiAEBEgsKA3ZtcxgEIAEoAyIzCgVTdGF0ZRIVChFTVEFURV9VTlNQRUNJRklFRBAAEggKBExJVkUQARIJCgVTV\
EFMRRACQg0KC19zaW5jZV91bml4MsQdCgxBbGVydFNlcnZpY2USdQoQUHJldmlld0FsZXJ0UnVsZRIqLnN2Yy5tb25pdG9yaW5nLnYxLlByZXZpZXdBbGVyd\
FJ1bGVSZXF1ZXN0Gisuc3ZjLm1vbml0b3JpbmcudjEuUHJldmlld0FsZXJ0UnVsZVJlc3BvbnNlIgiKtRgECAEgARJyCg9SZXBsYXlBbGVydFJ1bGUSKS5zd\
mMubW9uaXRvcmluZy52MS5SZXBsYXlBbGVydFJ1bGVSZXF1ZXN0Giouc3ZjLm1vbml0b3JpbmcudjEuUmVwbGF5QWxlcnRSdWxlUmVzcG9uc2UiCIq1GAQIA\
SABEmwKDVNhdmVBbGVydFJ1bGUSJy5zdmMubW9uaXRvcmluZy52MS5TYXZlQWxlcnRSdWxlUmVxdWVzdBooLnN2Yy5tb25pdG9yaW5nLnYxLlNhdmVBbGVyd\
FJ1bGVSZXNwb25zZSIIirUYBAgCEAESXAoMR2V0QWxlcnRSdWxlEiYuc3ZjLm1vbml0b3JpbmcudjEuR2V0QWxlcnRSdWxlUmVxdWVzdBocLnN2Yy5tb25pd\
G9yaW5nLnYxLkFsZXJ0UnVsZSIGirUYAggBEm8KDkxpc3RBbGVydFJ1bGVzEiguc3ZjLm1vbml0b3JpbmcudjEuTGlzdEFsZXJ0UnVsZXNSZXF1ZXN0Gikuc\
3ZjLm1vbml0b3JpbmcudjEuTGlzdEFsZXJ0UnVsZXNSZXNwb25zZSIIirUYBAgBIAEScgoPRGVsZXRlQWxlcnRSdWxlEikuc3ZjLm1vbml0b3JpbmcudjEuR\
GVsZXRlQWxlcnRSdWxlUmVxdWVzdBoqLnN2Yy5tb25pdG9yaW5nLnYxLkRlbGV0ZUFsZXJ0UnVsZVJlc3BvbnNlIgiKtRgECAIQARKFAQoWTGlzdEFsZXJ0U\
nVsZVRlbXBsYXRlcxIwLnN2Yy5tb25pdG9yaW5nLnYxLkxpc3RBbGVydFJ1bGVUZW1wbGF0ZXNSZXF1ZXN0GjEuc3ZjLm1vbml0b3JpbmcudjEuTGlzdEFsZ\
XJ0UnVsZVRlbXBsYXRlc1Jlc3BvbnNlIgaKtRgCCAESewoSTGlzdEFsZXJ0SW5zdGFuY2VzEiwuc3ZjLm1vbml0b3JpbmcudjEuTGlzdEFsZXJ0SW5zdGFuY\
2VzUmVxdWVzdBotLnN2Yy5tb25pdG9yaW5nLnYxLkxpc3RBbGVydEluc3RhbmNlc1Jlc3BvbnNlIgiKtRgECAEgARJqChBHZXRBbGVydEluc3RhbmNlEiouc\
3ZjLm1vbml0b3JpbmcudjEuR2V0QWxlcnRJbnN0YW5jZVJlcXVlc3QaIC5zdmMubW9uaXRvcmluZy52MS5BbGVydEluc3RhbmNlIgiKtRgECAEgARKBAQoUR\
XhwbGFpbkFsZXJ0SW5zdGFuY2USLi5zdmMubW9uaXRvcmluZy52MS5FeHBsYWluQWxlcnRJbnN0YW5jZVJlcXVlc3QaLy5zdmMubW9uaXRvcmluZy52MS5Fe\
HBsYWluQWxlcnRJbnN0YW5jZVJlc3BvbnNlIgiKtRgECAEgARJsCg1MaXN0SW5jaWRlbnRzEicuc3ZjLm1vbml0b3JpbmcudjEuTGlzdEluY2lkZW50c1Jlc\
XVlc3QaKC5zdmMubW9uaXRvcmluZy52MS5MaXN0SW5jaWRlbnRzUmVzcG9uc2UiCIq1GAQIASABElkKC0dldEluY2lkZW50EiUuc3ZjLm1vbml0b3Jpbmcud\
jEuR2V0SW5jaWRlbnRSZXF1ZXN0Ghsuc3ZjLm1vbml0b3JpbmcudjEuSW5jaWRlbnQiBoq1GAIIARJwCg9FeHBsYWluSW5jaWRlbnQSKS5zdmMubW9uaXRvc\
mluZy52MS5FeHBsYWluSW5jaWRlbnRSZXF1ZXN0Giouc3ZjLm1vbml0b3JpbmcudjEuRXhwbGFpbkluY2lkZW50UmVzcG9uc2UiBoq1GAIIARJtChNBY2tub\
3dsZWRnZUluY2lkZW50Ei0uc3ZjLm1vbml0b3JpbmcudjEuQWNrbm93bGVkZ2VJbmNpZGVudFJlcXVlc3QaGy5zdmMubW9uaXRvcmluZy52MS5JbmNpZGVud\
CIKirUYBggGEAEYAhJjCg5Tbm9vemVJbmNpZGVudBIoLnN2Yy5tb25pdG9yaW5nLnYxLlNub296ZUluY2lkZW50UmVxdWVzdBobLnN2Yy5tb25pdG9yaW5nL\
nYxLkluY2lkZW50IgqKtRgGCAYQARgCEmcKEFVuc25vb3plSW5jaWRlbnQSKi5zdmMubW9uaXRvcmluZy52MS5VbnNub296ZUluY2lkZW50UmVxdWVzdBobL\
nN2Yy5tb25pdG9yaW5nLnYxLkluY2lkZW50IgqKtRgGCAYQARgCEoMBChRBY2tub3dsZWRnZUluY2lkZW50cxIuLnN2Yy5tb25pdG9yaW5nLnYxLkFja25vd\
2xlZGdlSW5jaWRlbnRzUmVxdWVzdBovLnN2Yy5tb25pdG9yaW5nLnYxLkFja25vd2xlZGdlSW5jaWRlbnRzUmVzcG9uc2UiCoq1GAYIBhABGAISdAoPU25vb\
3plSW5jaWRlbnRzEikuc3ZjLm1vbml0b3JpbmcudjEuU25vb3plSW5jaWRlbnRzUmVxdWVzdBoqLnN2Yy5tb25pdG9yaW5nLnYxLlNub296ZUluY2lkZW50c\
1Jlc3BvbnNlIgqKtRgGCAYQARgCEnEKDldhdGNoSW5jaWRlbnRzEiguc3ZjLm1vbml0b3JpbmcudjEuV2F0Y2hJbmNpZGVudHNSZXF1ZXN0Gikuc3ZjLm1vb\
ml0b3JpbmcudjEuV2F0Y2hJbmNpZGVudHNSZXNwb25zZSIIirUYBAgBIAEwARJ4ChFDcmVhdGVEZXN0aW5hdGlvbhIrLnN2Yy5tb25pdG9yaW5nLnYxLkNyZ\
WF0ZURlc3RpbmF0aW9uUmVxdWVzdBosLnN2Yy5tb25pdG9yaW5nLnYxLkNyZWF0ZURlc3RpbmF0aW9uUmVzcG9uc2UiCIq1GAQIAhABEmIKDkdldERlc3Rpb\
mF0aW9uEiguc3ZjLm1vbml0b3JpbmcudjEuR2V0RGVzdGluYXRpb25SZXF1ZXN0Gh4uc3ZjLm1vbml0b3JpbmcudjEuRGVzdGluYXRpb24iBoq1GAIIAhJ1C\
hBMaXN0RGVzdGluYXRpb25zEiouc3ZjLm1vbml0b3JpbmcudjEuTGlzdERlc3RpbmF0aW9uc1JlcXVlc3QaKy5zdmMubW9uaXRvcmluZy52MS5MaXN0RGVzd\
GluYXRpb25zUmVzcG9uc2UiCIq1GAQIAiABEmoKEVVwZGF0ZURlc3RpbmF0aW9uEisuc3ZjLm1vbml0b3JpbmcudjEuVXBkYXRlRGVzdGluYXRpb25SZXF1Z\
XN0Gh4uc3ZjLm1vbml0b3JpbmcudjEuRGVzdGluYXRpb24iCIq1GAQIAhABEngKEURlbGV0ZURlc3RpbmF0aW9uEisuc3ZjLm1vbml0b3JpbmcudjEuRGVsZ\
XRlRGVzdGluYXRpb25SZXF1ZXN0Giwuc3ZjLm1vbml0b3JpbmcudjEuRGVsZXRlRGVzdGluYXRpb25SZXNwb25zZSIIirUYBAgCEAESegoRVmVyaWZ5RGVzd\
GluYXRpb24SKy5zdmMubW9uaXRvcmluZy52MS5WZXJpZnlEZXN0aW5hdGlvblJlcXVlc3QaLC5zdmMubW9uaXRvcmluZy52MS5WZXJpZnlEZXN0aW5hdGlvb\
lJlc3BvbnNlIgqKtRgGCAYQARgCEoMBChRTZW5kVGVzdE5vdGlmaWNhdGlvbhIuLnN2Yy5tb25pdG9yaW5nLnYxLlNlbmRUZXN0Tm90aWZpY2F0aW9uUmVxd\
WVzdBovLnN2Yy5tb25pdG9yaW5nLnYxLlNlbmRUZXN0Tm90aWZpY2F0aW9uUmVzcG9uc2UiCoq1GAYIBhABGAISagoQUGF1c2VEZXN0aW5hdGlvbhIqLnN2Y\
y5tb25pdG9yaW5nLnYxLlBhdXNlRGVzdGluYXRpb25SZXF1ZXN0Gh4uc3ZjLm1vbml0b3JpbmcudjEuRGVzdGluYXRpb24iCoq1GAYIBhABGAISbAoRUmVzd\
W1lRGVzdGluYXRpb24SKy5zdmMubW9uaXRvcmluZy52MS5SZXN1bWVEZXN0aW5hdGlvblJlcXVlc3QaHi5zdmMubW9uaXRvcmluZy52MS5EZXN0aW5hdGlvb\
iIKirUYBggGEAEYAhKAAQoTUm90YXRlV2ViaG9va1NlY3JldBItLnN2Yy5tb25pdG9yaW5nLnYxLlJvdGF0ZVdlYmhvb2tTZWNyZXRSZXF1ZXN0Gi4uc3ZjL\
m1vbml0b3JpbmcudjEuUm90YXRlV2ViaG9va1NlY3JldFJlc3BvbnNlIgqKtRgGCAYQARgCEm8KDkxpc3REZWxpdmVyaWVzEiguc3ZjLm1vbml0b3Jpbmcud\
jEuTGlzdERlbGl2ZXJpZXNSZXF1ZXN0Gikuc3ZjLm1vbml0b3JpbmcudjEuTGlzdERlbGl2ZXJpZXNSZXNwb25zZSIIirUYBAgBIAESWQoLR2V0RGVsaXZlc\
nkSJS5zdmMubW9uaXRvcmluZy52MS5HZXREZWxpdmVyeVJlcXVlc3QaGy5zdmMubW9uaXRvcmluZy52MS5EZWxpdmVyeSIGirUYAggBEmYKC0xpc3ROb3RpY\
2VzEiUuc3ZjLm1vbml0b3JpbmcudjEuTGlzdE5vdGljZXNSZXF1ZXN0GiYuc3ZjLm1vbml0b3JpbmcudjEuTGlzdE5vdGljZXNSZXNwb25zZSIIirUYBAgBI\
AESbgoSR2V0UHJvamVjdE92ZXJ2aWV3Eiwuc3ZjLm1vbml0b3JpbmcudjEuR2V0UHJvamVjdE92ZXJ2aWV3UmVxdWVzdBoiLnN2Yy5tb25pdG9yaW5nLnYxL\
lByb2plY3RPdmVydmlldyIGirUYAggBYgZwcm90bzM",[file_svc_monitoring_v1_delivery,file_svc_monitoring_v1_destination,file_svc_monitoring_v1_incident,
file_svc_monitoring_v1_monitoring,file_svc_monitoring_v1_rule,file_svc_options_v1_policy]);var AlertService=serviceDesc(file_svc_monitoring_v1_alert,0);var file_svc_monitoring_v1_maintenance=fileDesc("CiNzdmMvbW9uaXRvcmluZy92MS9tYWludGVuYW5jZS5wcm90bxIRc3ZjLm1vbml0b3Jpbmc\
udjEi8QMKEU1haW50ZW5hbmNlV2luZG93EgwKBG5hbWUYASABKAkSEQoJcnVsZV9uYW1lGAIgASgJEg8KB3ZtX25hbWUYAyABKAkSEQoJZnJvbV91bml4GAQ\
gASgDEhIKCnVudGlsX3VuaXgYBSABKAMSDAoEbm90ZRgGIAEoCRI5CgVzdGF0ZRgHIAEoDjIqLnN2Yy5tb25pdG9yaW5nLnYxLk1haW50ZW5hbmNlV2luZG9\
3LlN0YXRlEhIKCmNyZWF0ZWRfYnkYCCABKAkSFAoMY3JlYXRlZF91bml4GAkgASgDEhcKCmVuZGVkX3VuaXgYCiABKANIAIgBARIQCghlbmRlZF9ieRgLIAE\
oCRIZChFydWxlX2Rpc3BsYXlfbmFtZRgMIAEoCRIXCg92bV9kaXNwbGF5X25hbWUYDSABKAkSHwoXY3JlYXRlZF9ieV9kaXNwbGF5X25hbWUYDiABKAkSHQo\
VZW5kZWRfYnlfZGlzcGxheV9uYW1lGA8gASgJImIKBVN0YXRlEhUKEVNUQVRFX1VOU1BFQ0lGSUVEEAASDQoJU0NIRURVTEVEEAESCgoGQUNUSVZFEAISDgo\
KQU5OT1VOQ0lORxADEggKBE9WRVIQBBINCglDQU5DRUxMRUQQBUINCgtfZW5kZWRfdW5peCKjAQoeQ3JlYXRlTWFpbnRlbmFuY2VXaW5kb3dSZXF1ZXN0EhQ\
KDHByb2plY3RfbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJEhEKCXJ1bGVfbmFtZRgDIAEoCRIPCgd2bV9uYW1lGAQgASgJEhEKCWZyb21fdW5peBg\
FIAEoAxISCgp1bnRpbF91bml4GAYgASgDEgwKBG5vdGUYByABKAkicgodTGlzdE1haW50ZW5hbmNlV2luZG93c1JlcXVlc3QSFAoMcHJvamVjdF9uYW1lGAE\
gASgJEhEKCXBhZ2Vfc2l6ZRgCIAEoBRISCgpwYWdlX3Rva2VuGAMgASgJEhQKDGluY2x1ZGVfb3ZlchgEIAEoCCJwCh5MaXN0TWFpbnRlbmFuY2VXaW5kb3d\
zUmVzcG9uc2USNQoHd2luZG93cxgBIAMoCzIkLnN2Yy5tb25pdG9yaW5nLnYxLk1haW50ZW5hbmNlV2luZG93EhcKD25leHRfcGFnZV90b2tlbhgCIAEoCSI\
/ChtFbmRNYWludGVuYW5jZVdpbmRvd1JlcXVlc3QSDAoEbmFtZRgBIAEoCRISCgpyZXF1ZXN0X2lkGAIgASgJMpoDChJNYWludGVuYW5jZVNlcnZpY2USfgo\
XQ3JlYXRlTWFpbnRlbmFuY2VXaW5kb3cSMS5zdmMubW9uaXRvcmluZy52MS5DcmVhdGVNYWludGVuYW5jZVdpbmRvd1JlcXVlc3QaJC5zdmMubW9uaXRvcml\
uZy52MS5NYWludGVuYW5jZVdpbmRvdyIKirUYBggGEAEYAhKJAQoWTGlzdE1haW50ZW5hbmNlV2luZG93cxIwLnN2Yy5tb25pdG9yaW5nLnYxLkxpc3RNYWl\
udGVuYW5jZVdpbmRvd3NSZXF1ZXN0GjEuc3ZjLm1vbml0b3JpbmcudjEuTGlzdE1haW50ZW5hbmNlV2luZG93c1Jlc3BvbnNlIgqKtRgGCAYYASABEngKFEV\
uZE1haW50ZW5hbmNlV2luZG93Ei4uc3ZjLm1vbml0b3JpbmcudjEuRW5kTWFpbnRlbmFuY2VXaW5kb3dSZXF1ZXN0GiQuc3ZjLm1vbml0b3JpbmcudjEuTWF\
pbnRlbmFuY2VXaW5kb3ciCoq1GAYIBhABGAJiBnByb3RvMw",[file_svc_options_v1_policy]);var MaintenanceService=serviceDesc(file_svc_monitoring_v1_maintenance,0);var BINARY_UNITS=["B","KiB","MiB","GiB","TiB","PiB"],DECIMAL_UNITS=["B","kB","MB","GB","TB","PB"],BINARY=BINARY_UNITS.map(
(suffix,i)=>({size:1024**i,suffix})),DECIMAL=DECIMAL_UNITS.map((suffix,i)=>({size:1e3**i,suffix}));function exactQuantity(value,unit){let scale=exactScaleOf(value,unit);return withUnit(value/scale.size,unit,scale)}var SUFFIXES={percent:" %",operations_per_second:"/s",seconds:" s"};function withUnit(scaled,unit,{suffix}){return isOfBytes(
unit)?`${scaled} ${suffix}${unit==="bytes"?"":"/s"}`:`${scaled}${SUFFIXES[unit]??""}`}var ONE={size:1,suffix:""};function isOfBytes(unit){
return unit==="bytes"||unit==="bytes_per_second"}var BYTE={size:1,suffix:"B"};var TYPED_DIGITS_MAX=6;function exactScaleOf(value,unit){if(!isOfBytes(unit))return ONE;let fitting=[...BINARY,...DECIMAL].
filter(({size})=>size<=Math.abs(value)&&value/size*size===value&&digitsOf(value/size)<=TYPED_DIGITS_MAX),[first=BYTE]=fitting.
toSorted((a,b)=>digitsOf(value/a.size)-digitsOf(value/b.size)||b.size-a.size);return first}function digitsOf(value){let[
digits=""]=String(Math.abs(value)).split("e",1),plain=digits.replace(".","").replace(/^0+/,"");return digits.includes(".")?
plain.length:plain.replace(/0+$/,"").length}var AGE_METRIC="telemetry_age_seconds",CPU="Average utilization of observed vCPUs, normalized to capacity. Counter reset\
s are retained. A resize does not divide historical activity by the current vCPU count.",MEMORY="Guest-visible capacity \
minus free memory, including cache. Not application working set, not memory pressure.",DEVICE="Observed virtual-device t\
raffic. Not invoice-grade transfer measurements.",FILESYSTEM="Guest-agent-reported capacity and usage where available. A\
 mount is not necessarily one attached disk. A missing reading is not 0% full.",QUALITY="Source observation time, stale \
data and query errors are distinct from VM health. Buffered samples keep their original times.",STATE=`${QUALITY} A coar\
ser step holds the share of its observations.`,GUEST="Reported by expanded guest monitoring, from inside the guest, wher\
e installed.",rows=[{metricId:"cpu_utilization_pct",unit:"percent",source:"hypervisor",promqlName:"svc_vm_cpu_utilizatio\
n_pct",limitation:CPU,derivation:{from:"utilization",gauge:"svc_vm_cpu_utilization_pct",counter:"svc_vm_cpu_seconds_tota\
l"}},{metricId:"memory_used_bytes",unit:"bytes",source:"hypervisor",promqlName:"svc_vm_memory_used_bytes",limitation:MEMORY,
derivation:{from:"memoryUsed",as:"bytes"}},{metricId:"memory_used_pct",unit:"percent",source:"hypervisor",promqlName:"sv\
c_vm_memory_used_bytes",limitation:MEMORY,derivation:{from:"memoryUsed",as:"percent"}},gauge("memory_total_bytes","bytes",
"hypervisor","svc_vm_memory_total_bytes",MEMORY),rate("disk_read_bytes_per_second","bytes_per_second","svc_vm_disk_read_\
bytes_total"),rate("disk_write_bytes_per_second","bytes_per_second","svc_vm_disk_written_bytes_total"),rate("disk_read_o\
ps_per_second","operations_per_second","svc_vm_disk_reads_completed_total"),rate("disk_write_ops_per_second","operations\
_per_second","svc_vm_disk_writes_completed_total"),rate("network_receive_bytes_per_second","bytes_per_second","svc_vm_ne\
twork_receive_bytes_total"),rate("network_transmit_bytes_per_second","bytes_per_second","svc_vm_network_transmit_bytes_t\
otal"),{metricId:"filesystem_used_pct",unit:"percent",source:"guest",promqlName:"svc_vm_filesystem_used_bytes",limitation:FILESYSTEM,
derivation:{from:"percentage",numerator:"svc_vm_filesystem_used_bytes",denominator:"svc_vm_filesystem_size_bytes"}},filesystem(
"filesystem_used_bytes","svc_vm_filesystem_used_bytes","svc_vm_filesystem_size_bytes"),filesystem("filesystem_size_bytes",
"svc_vm_filesystem_size_bytes"),{metricId:"vm_running",unit:"boolean",source:"hypervisor",promqlName:"svc_vm_running",limitation:STATE,
derivation:{from:"running",series:"svc_vm_running"}},{metricId:"unexpected_stop",unit:"boolean",source:"hypervisor",promqlName:"\
svc_vm_running",limitation:STATE,derivation:{from:"unexpectedStop"}},{metricId:AGE_METRIC,unit:"seconds",source:"service",
promqlName:"svc_vm_last_observation_timestamp_seconds",limitation:QUALITY,derivation:{from:"age"}},{...gauge("load_1m","\
load","guest","svc_vm_load1",GUEST),expanded:!0},{...gauge("memory_available_bytes","bytes","guest","svc_vm_memory_avail\
able_bytes",GUEST),expanded:!0},{...gauge("swap_used_bytes","bytes","guest","svc_vm_swap_used_bytes",GUEST),expanded:!0},
{...gauge("processes_running","processes","guest","svc_vm_processes_running",GUEST),expanded:!0}],metricCatalogue=new Map(
rows.map(row=>[row.metricId,{expanded:!1,reportedByGuest:isReportedByGuest(row),...row}])),EXPANDED_SERIES=new Set(rows.
filter(({expanded})=>expanded).map(({promqlName})=>promqlName)),EVALUATED_METRICS=new Set(metricCatalogue.keys());function isReportedByGuest({
source,derivation,metricId}){let isMemory=derivation.from==="memoryUsed"||metricId==="memory_total_bytes";return source===
"guest"||isMemory}function gauge(metricId,unit,source,series,limitation){return{metricId,unit,source,promqlName:series,limitation,
derivation:{from:"gauge",series,perLabels:!1}}}function rate(metricId,unit,series){return{metricId,unit,source:"hypervis\
or",promqlName:series,limitation:DEVICE,derivation:{from:"rate",series}}}function filesystem(metricId,series,atMost){let derivation={
from:"gauge",series,perLabels:!0,...atMost!==void 0&&{atMost}};return{metricId,unit:"bytes",source:"guest",promqlName:series,
limitation:FILESYSTEM,derivation}}function localTime(unixSeconds){let seconds=Number(unixSeconds??0);if(seconds===0)return"";let unixMs=seconds*1e3;return Number.
isNaN(new Date(unixMs).getTime())?"?":withOffset(unixMs)}function enumText(names,value){let name=Object.entries(names).find(
([,known])=>known===value)?.[0]??"";return value===0?"":name}function fullName(displayName,name){return displayName===""?name:`${displayName} (${name})`}function createdText({createdUnix,createdBy,createdByDisplayName}){return`${localTime(createdUnix)} by ${fullName(createdByDisplayName,
createdBy)}`}var OPERATOR_SYMBOLS={GREATER_THAN:">",GREATER_THAN_OR_EQUAL:">=",LESS_THAN:"<",LESS_THAN_OR_EQUAL:"<=",EQUAL:"=",NOT_EQUAL:"\
!="};function conditionText(spec){if(!spec)return"";let symbol=OPERATOR_SYMBOLS[enumText(AlertRuleSpec_Operator,spec.operator)]??
"?",wait=spec.sustainedSeconds>0?` for ${spec.sustainedSeconds} s`:"";return`${spec.metricId} ${symbol} ${thresholdText(
spec)}${wait}`}function thresholdText({metricId,threshold}){if(threshold===void 0)return"";let unit=metricCatalogue.get(
metricId)?.unit??"",text2=unit.startsWith("bytes")?exactQuantity(threshold,unit):"";return/[kKMGTP]i?B/.test(text2)?text2:
String(threshold)}var PAGE_SIZE=500;async function everyItem(api,method3,request3,field){let all=[],pageToken="";do{let page={pageSize:PAGE_SIZE,
pageToken},answer=await api.call(method3,{...request3,...page});all.push(...answer[field]),pageToken=nextTokenOf(answer)}while(pageToken!==
"");return all}function nextTokenOf(answer){return"nextPageToken"in answer?String(answer.nextPageToken):""}var ITEMS_DEFAULT=50,
pageOptions=[{name:"page-size",takes:"N",help:`At most this many; default ${ITEMS_DEFAULT}`},{name:"page-token",takes:"T\
OKEN",help:"Token of the next page, from an earlier response"}];var alerts=AlertService.method,iam=AutomationService.method,project=ProjectService.method;function displayed(one,command,list){
return{one,many:`${one}s`,list:command,find:async(api,projectName2)=>(await list(api,{projectName:projectName2})).map(({
name,displayName,detail=""})=>({name,labels:[displayName],detail}))}}var KINDS={alertRules:displayed("alert rule","svc a\
lerts list",async(api,request3)=>(await everyItem(api,alerts.listAlertRules,request3,"rules")).map(({name,spec})=>({name,
displayName:spec?.displayName??"",detail:conditionText(spec)}))),destinations:displayed("destination","svc destinations \
list",(api,request3)=>everyItem(api,alerts.listDestinations,request3,"destinations")),serviceAccounts:displayed("service\
 account","svc service-accounts list",(api,request3)=>everyItem(api,iam.listServiceAccounts,request3,"serviceAccounts")),
ciConnections:displayed("CI trust","svc trusts list",(api,request3)=>everyItem(api,iam.listCiConnections,request3,"conne\
ctions")),ciVerifications:displayed("verification","svc trusts list --verifications",(api,request3)=>everyItem(api,iam.listCiVerifications,
request3,"verifications")),vms:{one:"VM",many:"VMs",list:"svc monitoring vms",async find(api,projectName2,given){let search=given.
slice(0,VM_SEARCH_MAX),request3={projectName:projectName2,search,inventoryOnly:!0};return(await everyItem(api,MonitoringService.
method.listVMMonitoring,request3,"vms")).map(({name,displayName})=>({name,labels:[displayName]}))}},members:{one:"member",
many:"members",list:"svc members list",async find(api,projectName2){return(await everyItem(api,project.listMembers,{projectName:projectName2},
"members")).map(({name,displayName,email,unprovenEmail})=>({name,labels:[email||unprovenEmail,displayName]}))}},invitations:{
one:"open invitation",many:"open invitations",list:"svc members list --invitations",async find(api,projectName2){return(await everyItem(
api,project.listInvitations,{projectName:projectName2},"invitations")).filter(({state})=>state===Invitation_State.PENDING).
map(({name,email})=>({name,labels:[email]}))}},maintenanceWindows:{one:"maintenance window",many:"maintenance windows",list:"\
svc maintenance list",async find(api,projectName2){let{listMaintenanceWindows}=MaintenanceService.method;return(await everyItem(
api,listMaintenanceWindows,{projectName:projectName2},"windows")).map(({name,note})=>({name,labels:[note]}))}},incidents:{
one:"firing incident",many:"firing incidents",list:"svc incidents list",async find(api,projectName2,given){if(/^inc_\w{4,}$/.
test(given)){let{incidents:incidents2}=await api.call(alerts.listIncidents,{projectName:projectName2,pageSize:NEWEST});return incidents2.
map(({name})=>({name,labels:[]}))}let request3={projectName:projectName2,state:Incident_State.FIRING};return(await everyItem(
api,alerts.listIncidents,request3,"incidents")).map(({name,ruleDisplayName,vmName,vmDisplayName,startedUnix})=>{let vm=vmName.
slice(vmName.lastIndexOf("/")+1),subject=vmDisplayName||vm,full=`${ruleDisplayName} on ${subject}`,detail=`started ${localTime(
startedUnix)}`;return{name,labels:[full,ruleDisplayName,subject,vm],detail}})}},deliveries:{one:"delivery",many:"deliver\
ies",list:"svc deliveries list",async find(api,projectName2){let{deliveries}=await api.call(alerts.listDeliveries,{projectName:projectName2,
pageSize:NEWEST});return deliveries.map(({name})=>({name,labels:[]}))}}},PROJECTS={many:"projects",find:async api=>(await everyItem(
api,project.listProjects,{},"projects")).map(({name,displayName})=>({name,labels:[displayName]}))},NEWEST=500,VM_SEARCH_MAX=100;
function isNamed(collection){return Object.hasOwn(KINDS,collection)}function candidatesOf(api,project2,collection,given){
return KINDS[collection].find(api,project2,given)}function wordsFor(collection){return KINDS[collection]}function meantBy(given,candidates,{
many}){let byId=candidates.find(({name})=>name===given||name.endsWith(`/${given}`));if(byId)return byId;let lower=given.
toLowerCase(),exactly=candidates.filter(({labels:labels2})=>labels2.includes(given)),inAnyCase=candidates.filter(({labels:labels2})=>labels2.
some(label2=>label2.toLowerCase()===lower)),named=exactly.length>0?exactly:inAnyCase,begun=given.length<PREFIX_MIN?[]:candidates.
filter(({name})=>name.includes(`/${given}`)),meant=named.length>0?named:begun;if(meant.length<=1)return meant[0];let ids=meant.
slice(0,SHOWN_MAX).map(lineOf),more=meant.length>ids.length?[`and ${meant.length-ids.length} more`]:[],what=`${quoted(given)}\
 is the name of ${meant.length} ${many}. Use the id of one`;throw new UsageError(what,[...ids,...more].join(`
`))}var SHOWN_MAX=10,PREFIX_MIN=8;function lineOf({name,labels:labels2,detail=""}){let[label2=""]=labels2.filter(Boolean);
return[idOf(name),label2,detail].filter(Boolean).map(printable).join("  ")}function idOf(name){return name.slice(name.lastIndexOf(
"/")+1)}function nothingNamed(given,candidates,{one,list}){let names=candidates.flatMap(({name,labels:labels2})=>[...labels2.
filter(Boolean),idOf(name)]),closest=closestName(given,names);return new Fault(`No ${one} named ${quoted(given)} in the \
project`,{exitCode:EXIT_NOT_FOUND,reason:"NOT_FOUND",hint:closest?`Did you mean ${quoted(closest)}?`:`List them: ${list}`})}var ID=/^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$/;async function projectName(context,api){let given=givenText(context),{cookie}=api.
access.headers();if(given!==void 0)return cookie!==void 0&&!PROJECT_AS_IT_IS.test(given)?projectCalled(api,given):projectOf(
given);if(cookie===void 0)throw new UsageError("The project is not set. Use --project or SVC_PROJECT","A key does not na\
me its project. For example: --project demo, or SVC_PROJECT=demo");let{projects}=await api.call(ProjectService.method.listProjects,
{pageSize:20}),[first,...others]=projects;if(first&&others.length===0)return first.name;if(!first)throw new UsageError("\
You are not a member of any project");let names=projects.map(({name})=>name.slice(9)).join(", ");throw new UsageError(`Y\
ou are a member of several projects. Set --project to one of ${names}`)}function givenText({input,environment}){return input.text("project")||environment.SVC_PROJECT||void 0}var PROJECT_AS_IT_IS=/^[a-z0-9._~-]{1,128}$|^projects\//;
async function projectCalled(api,given){let{many,find}=PROJECTS,projects=await find(api),meant=meantBy(given,projects,{many});
if(meant)return meant.name;let names=projects.flatMap(({labels:labels2})=>labels2),closest=closestName(given,names),known=names.
slice(0,PROJECTS_SHOWN).map(quoted).join(", ");throw new UsageError(`You are not a member of a project ${quoted(given)}`,
closest?`Did you mean ${quoted(closest)}?`:`Your projects: ${known||"none"}`)}var PROJECTS_SHOWN=10;function projectOf(given){
let id=given.replace(/^projects\//,"");if(ID.test(id))return`projects/${id}`;throw new UsageError(`${quoted(given)} is n\
ot a project id`,'A key accepts ids such as "demo"; a signed-in person may use the display name')}var ID_BEGINNING=/^[a-z]{3}_\w+$/,
OWN_ID=new RegExp([/^[a-z]{3}_[0-9A-Za-z]{26,}$/,/^[0-9A-HJKMNP-TV-Z]{26}$/,/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
/^[0-9a-f]{32}$/].map(({source})=>source).join("|"));async function resourceName(context,api,{collection,given,takesUnknown=!1}){
if(new RegExp(`^projects/[^/]+/${collection}/[^/]+$`).test(given))return given;let isId=ID.test(given);if(given===""||!isId&&
!isNamed(collection))throw new UsageError(`${JSON.stringify(given)} is neither an id nor projects/<id>/${collection}/<id\
>`);let project2=await projectName(context,api),asId=`${project2}/${collection}/${given}`;if(!isNamed(collection)||OWN_ID.
test(given)||given==="-")return asId;let candidates;try{candidates=await candidatesOf(api,project2,collection,given)}catch(error2){
if(isId&&refusalOf(error2)?.exitCode===EXIT_DENIED)return asId;throw error2}let words=wordsFor(collection),meant=meantBy(
given,candidates,words);if(meant)return meant.name;if(ID_BEGINNING.test(given)||isId&&takesUnknown)return asId;let all=collection===
"vms"?await candidatesOf(api,project2,collection,""):candidates;throw nothingNamed(given,all,words)}function firstNamed(collection){return(context,api)=>resourceName(context,api,{collection,given:context.input.positional(
0)})}function newUuid(random){let bytes=Buffer.from(random.bytes(16));bytes[6]=(bytes[6]??0)&15|64,bytes[8]=(bytes[8]??0)&
63|128;let hex=bytes.toString("hex");return[hex.slice(0,8),hex.slice(8,12),hex.slice(12,16),hex.slice(16,20),hex.slice(20)].
join("-")}function requestId({input,ports}){return input.text("request-id")??newUuid(ports.random)}function reportRequest({report},what,id){report(`${what} (request ${id})`)}function changeOptions(...own){return{options:[...own,requestIdOption,projectOption]}}function requestOf(_method,fields){
return fields}function change({nameOf,method:method3,fields,act,show,options=[],...about}){return{...about,...changeOptions(...options),
async run(context){let api=context.api("person"),request3={name:await nameOf(context,api),requestId:requestId(context)};
act&&reportRequest(context,`${act} ${request3.name}`,request3.requestId);let whole=requestOf(method3,{...fields?.(context),
...request3});return show(context,await api.call(method3,whole))}}}function reasonOf2({input}){return{reason:input.text("reason")??""}}var capabilityOption={name:"capability",takes:"CAPABILITY",multiple:!0,help:"monitoring.read or monitoring.write"};var nameOption={name:"name",takes:"TEXT",help:"Display name"},reasonOption={name:"reason",takes:"TEXT",help:"Reason, for\
 the audit trail"},editOptions=[nameOption,{...capabilityOption,help:'Complete list of its permissions; "none" for no pe\
rmissions'}];var{method}=AutomationService,VERIFICATION=[{name:"SETUP-ID"}],verificationName=firstNamed("ciVerifications");function claimTable(claims){
return table(["claim","value","bound"],claims.map(({claim,value,bound})=>[claim,claimText(value),bound?"yes":"no"]),"Not\
hing observed yet")}function claimText(value){return value===""?"(empty)":value??"(absent)"}function refusedText({lastRefusal}){
if(!lastRefusal)return"";let{code:code2,claims,refusedUnix}=lastRefusal,about=claims.length>0?` (${claims.join(", ")})`:
"";return`${code2}${about} at ${localTime(refusedUnix)}`}function verificationText(verification){return`${facts([["verif\
ication",verification.name],["name",verification.displayName],["state",enumText(CiVerification_State,verification.state)],
["account",fullName(verification.serviceAccountDisplayName,verification.serviceAccountName)],["requested",verification.capabilities.
join(" ")],["platform",`${verification.issuer} (${verification.issuerUrl})`],["audience",verification.audience],["starte\
d",createdText(verification)],["observed",localTime(verification.observedUnix)||"not yet"],["refused",refusedText(verification)],
["wrong codes",verification.wrongCodes===0?"":String(verification.wrongCodes)],["expires",localTime(verification.expiresUnix)],
["digest",verification.claimsDigest],["trust",verification.connectionName],...verification.warnings.map(warning=>["WARNI\
NG",warning])])}
${claimTable(verification.claims)}`}function printVerification(context,verification){return printMessage(context,CiVerificationSchema,
verification,()=>verificationText(verification))}var approveAction={name:"approve",summary:"Trust the observed workflow, with the chosen permissions",positionals:VERIFICATION,
...changeOptions({...capabilityOption,help:"Only these permissions; default: those requested at the start"},nameOption,{
name:"digest",takes:"DIGEST",help:"Digest of the reviewed claims; replaces the prompt in scripts"}),notes:`On a terminal\
, each claim is shown and you confirm. Otherwise --digest must be the digest printed
by "svc trusts review".`,async run(context){let{input}=context,api=context.api("person"),name=await verificationName(context,
api),verification=await api.call(method.getCiVerification,{name}),given=input.list("capability").flatMap(text2=>text2.split(
",")),capabilities=given.length>0?given:verification.capabilities;await confirm(context,verification,capabilities);let trust=await api.
call(method.approveCiVerification,{name,capabilities,requestId:requestId(context),displayName:input.text("name")??verification.
displayName,claimsDigest:input.text("digest")??verification.claimsDigest}),document=()=>messageDocument(CiConnectionSchema,
trust);return context.print(context.json?document():variables(trust,api.access.endpoint)),context.report("Now remove the\
 step and the secret SVC_SETUP_CODE from the workflow. The trust does not need them."),0}};async function confirm({input,
ports,report},verification,capabilities){let{state}=verification;if(state===CiVerification_State.APPROVED&&input.isOn("r\
equest-id"))return;if(ports.isInteractive&&!input.isOn("digest")&&report(verificationText(verification)),state!==CiVerification_State.
OBSERVED)throw new Fault(`Nothing to approve: the verification is ${enumText(CiVerification_State,state)}`);let digest=input.
text("digest");if(digest!==void 0){if(digest===verification.claimsDigest)return;throw new Fault("The claims changed sinc\
e you reviewed them. Review them again",{hint:`svc trusts review ${verification.name}`})}if(!ports.isInteractive)throw new UsageError(
"There is no terminal for the confirmation, and --digest is missing",`Review first and pass the displayed digest: svc tr\
usts review ${verification.name}`);if((await ports.ask(`Trust exactly this workflow with ${capabilities.join(" and ")}? \
Type "yes": `)).trim().toLowerCase()!=="yes")throw new Fault("Not approved")}function variables({name,audience},endpoint){
return`SVC_TRUST=${name}
SVC_AUDIENCE=${audience}
SVC_ENDPOINT=${endpoint}
`}var rejectAction=change({name:"reject",summary:"End a verification without granting trust",positionals:VERIFICATION,options:[
reasonOption],nameOf:verificationName,method:method.rejectCiVerification,fields:reasonOf2,show:printVerification});var import_node_fs3=require("node:fs");function mask({environment,surroundings},secret){environment.GITHUB_ACTIONS==="tr\
ue"&&surroundings.stderr(`::add-mask::${secret}
`)}function addToSummary({environment,report},markdown){let path=environment.GITHUB_STEP_SUMMARY;if(path)try{(0,import_node_fs3.appendFileSync)(
path,markdown)}catch(error2){report(`The step summary could not be written: ${error2.message}`)}}var REQUEST_URL="ACTIONS_ID_TOKEN_REQUEST_URL",REQUEST_TOKEN="ACTIONS_ID_TOKEN_REQUEST_TOKEN",JWT_FORM=/^[\w-]+\.[\w-]+\.[\w-]+$/;
function assertionSource(context,audience){let given=context.input.text("assertion-from");if(given===void 0)return{fresh:()=>askPlatform(
context,audience),isRenewable:!0,variables:[REQUEST_URL,REQUEST_TOKEN]};let read=given==="-"?context.ports.readInput:async()=>fromVariable(
context,given);return{fresh:async()=>checked(context,(await read()).trim(),`--assertion-from ${given}`),isRenewable:!1,variables:[
REQUEST_URL,REQUEST_TOKEN,...given==="-"?[]:[given]]}}function fromVariable({environment},name){let value=environment[name];
if(value)return value;throw new UsageError(`--assertion-from names the variable ${name}, which is not set`,"The job must\
 request an identity token from its platform; see docs/ci.md")}var TRIES_MAX=5,FIRST_PAUSE_MS=500,PASSING=[502,503,504];
async function askPlatform(context,audience){let{ports,timeoutMs,report}=context,{url,token}=permission(context);for(let tries=1;;tries++){
let answer=await askPlainly({method:"GET",url:`${url}&audience=${encodeURIComponent(audience)}`,headers:{authorization:`\
Bearer ${token}`,accept:"application/json"},timeoutMs});if(answer.status===200)return checked(context,valueIn(answer.text),
"the response of the token endpoint");let sentence=`The platform's token endpoint responded with HTTP ${answer.status}`;
if(!PASSING.includes(answer.status)||tries===TRIES_MAX)throw new Fault(sentence);report(`${sentence}; retrying`),await pause(
ports.clock,FIRST_PAUSE_MS*2**(tries-1))}}function permission({environment}){let{[REQUEST_URL]:url,[REQUEST_TOKEN]:token}=environment;
if(!url||!token)throw notPermitted(environment);if(!URL.canParse(url)||!isConfidential(new URL(url)))throw new Fault(`${REQUEST_URL}\
 is not an HTTPS address`);return{url,token}}function notPermitted(environment){return environment.GITHUB_ACTIONS!=="tru\
e"?new UsageError("This job cannot request an identity token",`${REQUEST_URL} is not set. On other platforms, pass the t\
oken with --assertion-from;
see docs/ci.md for GitLab, Buildkite and CircleCI.`):new Fault("This job is not allowed to request an identity token",{hint:PERMISSION_HINT})}
var PERMISSION_HINT=`Add this to the job (naming one permission removes those not named):
    permissions:
      id-token: write
      contents: read
Runs for pull requests from forks never have it, and pull requests are always denied.`;function valueIn(text2){try{let parsed=JSON.
parse(text2);if(typeof parsed=="object"&&parsed!==null&&"value"in parsed)return String(parsed.value)}catch{}return""}function checked(context,assertion,where){
if(!JWT_FORM.test(assertion))throw new Fault(`No identity token in ${where}`);return mask(context,assertion),assertion}var{method:method2}=AutomationService,TRIES_MAX2=3,ciAction={name:"ci",summary:"Exchange the identity of a CI job for a \
token, and run one command with it",takesCommand:!0,options:[{name:"trust",takes:"NAME",help:"Name of the approved trust\
; default: SVC_TRUST"},{name:"audience",takes:"AUDIENCE",help:"Audience of the identity token; default: SVC_AUDIENCE"},{
name:"print",help:"Print the token, after masking it, instead of running a command"},{name:"verify",help:"Run the verifi\
cation step instead, with SVC_SETUP_CODE"},{name:"setup-id",takes:"ID",help:"Id of the verification; default: SVC_SETUP_\
ID"},{name:"assertion-from",takes:"VARIABLE",help:"Variable that holds the identity token, if the platform sets one; - r\
eads standard input"}],notes:`The command gets the token as SVC_API_KEY in its own environment, with SVC_ENDPOINT and
SVC_PROJECT; svc returns its exit code. The token expires after 15 minutes and cannot be renewed.
Split longer work, and run "svc auth ci -- …" for each part. Other tools must read the token from
the environment, never from an argument, which every process on the machine can read; docs/ci.md
has an example with curl. --print writes it to standard output and the mask to standard error.
Use it within one step, and never write it to GITHUB_ENV, GITHUB_OUTPUT, a file or an artifact.`,run:context=>context.input.
isOn("verify")?verify(context):exchange(context)},authCommand=family("auth","Keyless access for CI jobs",[ciAction]);async function exchange(context){
let{input,print}=context,{command}=input;if(input.isOn("print")===command.length>0)throw new UsageError("Pass a command \
after --, or --print","svc auth ci -- svc monitoring vms");let trustName=needed(context,"trust","SVC_TRUST"),api=context.
api("nobody"),source=assertionSource(context,needed(context,"audience","SVC_AUDIENCE")),answer=await withFresh(context,source,
assertion=>api.call(method2.exchangeCiToken,{trustName,assertion}));if(mask(context,answer.accessToken),command.length>0)
return runWith(context,{api,source,answer,command});let{accessToken,projectName:projectName2,expiresInSeconds}=answer;return print(
context.json?json({accessToken,projectName:projectName2,expiresInSeconds}):`${accessToken}
`),0}function needed({input,environment},option,variable,hint=VARIABLES_HINT){let value=input.text(option)||environment[variable]?.
trim();if(value)return value;throw new UsageError(`${variable} is empty, and --${option} is not set`,hint)}var VARIABLES_HINT=`\
This is a CI variable, not a secret. Runs for pull requests from forks do not have access to variables.
"svc trusts show" prints the trust name and the audience`,VERIFY_HINT='"svc trusts verify" printed it (docs/ci.md, step \
3). Pass it to the verification step of the job';async function withFresh(context,source,call){for(let tries=1;;tries++){
let assertion=await source.fresh();try{return await call(assertion)}catch(error2){reportRefusal(context,error2,assertion);
let waitMs=error2 instanceof NoAnswer?1e3*tries:retryWaitMs(error2,tries,RETRIES);if(waitMs===void 0||!source.isRenewable||
tries===TRIES_MAX2)throw error2;context.report("The service did not return a usable response; retrying with a new identi\
ty token"),await pause(context.ports.clock,waitMs)}}}var EXIT_CANNOT_RUN=126,EXIT_NO_COMMAND=127;async function runWith({
environment,ports,surroundings},given){let{api,source,answer,command}=given,child={...environment};for(let name of[...source.
variables,"SVC_SETUP_CODE","SVC_REEXEC"])delete child[name];child.SVC_API_KEY=answer.accessToken,child.SVC_ENDPOINT=api.
access.endpoint,child.SVC_PROJECT=answer.projectName.replace(/^projects\//,"");let{onSignal}=surroundings,end=await ports.
runChild({command,environment:child,onSignal});if("exitCode"in end)return end.exitCode;throw new Fault(`${command[0]??""}\
 could not be run: ${end.problem}`,{exitCode:end.missing?EXIT_NO_COMMAND:EXIT_CANNOT_RUN})}async function verify(context){
let{environment,input,print}=context;if(input.isOn("print")||input.command.length>0)throw new UsageError("--verify prove\
s an identity without issuing a token, so it takes no command");let setupId=needed(context,"setup-id","SVC_SETUP_ID",VERIFY_HINT),
pairingCode=environment.SVC_SETUP_CODE?.trim()??"";if(pairingCode==="")throw new UsageError("SVC_SETUP_CODE is empty","S\
tore the pairing code as a secret of that name and pass it to this step. Runs for pull requests from forks do not have a\
ccess to secrets");mask(context,pairingCode);let api=context.api("nobody"),audience=needed(context,"audience","SVC_AUDIE\
NCE",VERIFY_HINT),source=assertionSource(context,audience),answer=await withFresh(context,source,assertion=>api.call(method2.
submitCiVerification,{setupId,pairingCode,assertion}));return context.json?(print(messageDocument(SubmitCiVerificationResponseSchema,
answer)),0):(print(`Observed, and waiting for review. Nothing is granted yet.

${claimTable(answer.claims)}
`),print(`digest  ${answer.claimsDigest}
`),context.report(`Review it within 30 minutes of the start: svc trusts review ${setupId}`),0)}var VALUE_CHARS_MAX=300;function reportRefusal(context,error2,assertion){
let refusal=refusalOf(error2);if(refusal?.reason!=="EXCHANGE_DENIED"&&refusal?.reason!=="BAD_ASSERTION")return;let rows2=rowsOf(
decodedClaims(assertion),differencesOf(refusal)),hints=hintsFor(refusal,context.environment);if(!context.json){let cells=rows2.
map(({claim,value,mark})=>[claim,value,mark]);context.report(`Claims of this job:
`),context.report(table(["claim","value",""],cells,"The token cannot be decoded"));for(let hint of hints)context.report(
`${hint}
`)}addToSummary(context,summaryOf(refusal,rows2,hints))}function decodedClaims(assertion){try{let payload=Buffer.from(assertion.
split(".")[1]??"","base64url").toString("utf8"),claims=JSON.parse(payload);return Object.fromEntries(Object.entries(claims).
map(([claim,value])=>[claim,textOf(value)]))}catch{return{}}}function textOf(value){let text2=typeof value=="string"?value:
JSON.stringify(value)??"";return text2.length>VALUE_CHARS_MAX?`${text2.slice(0,VALUE_CHARS_MAX)}…`:text2}function differencesOf({
metadata}){try{let parsed=JSON.parse(metadata.claims??"[]");return Array.isArray(parsed)?parsed:[]}catch{return[]}}function rowsOf(claims,differences){
let differing=differences.map(difference=>({claim:difference.claim,value:claimText(difference.got===null?null:textOf(difference.
got)),mark:markOf(difference)})),rest=Object.entries(claims).filter(([claim])=>!differences.some(difference=>difference.
claim===claim)).sort(([a],[b])=>a<b?-1:1).map(([claim,value])=>({claim,value:claimText(value),mark:""}));return[...differing,
...rest]}function markOf({got,expected}){let mark=got===null?"MISSING":"DIFFERENT";return expected===void 0?mark:expected===
null?`${mark}: must be absent`:`${mark}: expected ${claimText(textOf(expected))}`}var PULL_REQUEST=/^pull_request/;function hintsFor({
metadata},environment){let hints=[];return(PULL_REQUEST.test(environment.GITHUB_EVENT_NAME??"")||metadata.cause==="PULL_\
REQUEST")&&hints.push(`Pull requests are always denied, from forks and from branches. Run the job on push,
workflow_dispatch or schedule, as the trust was verified.`),metadata.cause==="IDENTITY_RENAMED"&&hints.push("The reposit\
ory or its owner was renamed. Verify the workflow again (svc trusts verify)."),metadata.cause==="IDENTITY_MISMATCH"&&hints.
push("Either run the job as it was verified, or verify this one (svc trusts verify)."),!environment.ACTIONS_ID_TOKEN_REQUEST_URL&&
environment.GITHUB_ACTIONS==="true"&&hints.push(PERMISSION_HINT),hints}function summaryOf(refusal,rows2,hints){let{reason,
message,metadata}=refusal,facts2=["cause","correlation"].flatMap(name=>{let value=metadata[name];return value===void 0?[]:
[`- ${name}: ${code(value)}`]});return["### svc: this job was denied","",`${code(reason)}: ${code(message)}`,"",...facts2,
"","| claim | this job | |","| --- | --- | --- |",...rows2.map(({claim,value,mark})=>`| ${code(claim)} | ${code(value)} \
| ${mark===""?"":`**${code(mark)}**`} |`),"",...hints.map(hint=>`${hint.split(`
`).map(line=>`> ${line}`).join(`
`)}
`),""].join(`
`)}function code(text2){return`\`${printable(text2).replaceAll("`","'").replaceAll("|","\\|")}\``}authCommand.run(process.argv.slice(2),processSurroundings()).then(code2=>{process.exitCode=code2});
