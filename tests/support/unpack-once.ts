/** A process that unpacks files once, as a start of the executable does. */
import { unpack } from "../../src/packaging/native-libraries.ts";

const [folder = "", files = "[]"] = process.argv.slice(2);
process.stdout.write(unpack({ files: JSON.parse(files), folder, user: process.getuid?.() }));
