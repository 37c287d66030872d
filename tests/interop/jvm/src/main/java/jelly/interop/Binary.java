package jelly.interop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.jena.query.ResultSet;
import org.apache.jena.riot.Lang;
import org.apache.jena.riot.RDFFormat;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.resultset.ResultSetLang;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFWriter;
import org.apache.jena.sparql.resultset.ResultsReader;
import org.apache.jena.sparql.resultset.ResultsWriter;

/**
 * Jena's own binary formats, RDF Thrift and RDF Protobuf, by its public readers and writers.
 *
 * <pre>
 * binary-read  thrift|protobuf IN OUT.nq            prefixes as "# prefix NAME IRI" lines
 * binary-write thrift|values|protobuf IN.nq OUT PREFIXES   "NAME=IRI" words, "-" for none
 * results      FORMAT IN FORMAT OUT                 thrift, protobuf, json, xml
 * </pre>
 */
final class Binary {
    private Binary() {}

    static void read(String format, Path in, Path out) throws IOException {
        Lang lang = format.equals("thrift") ? Lang.RDFTHRIFT : Lang.RDFPROTO;
        try (InputStream from = Files.newInputStream(in); OutputStream to = Files.newOutputStream(out)) {
            Text.Writer text = new Text.Writer(to);
            RDFParser.create().source(from).forceLang(lang).build().parse(text);
            text.finish();
        }
    }

    static void write(String format, Path in, Path out, String prefixes) throws IOException {
        RDFFormat chosen = switch (format) {
            case "thrift" -> RDFFormat.RDF_THRIFT;
            case "values" -> RDFFormat.RDF_THRIFT_VALUES;
            default -> RDFFormat.RDF_PROTO;
        };
        try (OutputStream to = Files.newOutputStream(out)) {
            StreamRDF writer = StreamRDFWriter.getWriterStream(to, chosen);
            writer.start();
            for (String word : prefixes.split(" ")) {
                if (!word.equals("-")) {
                    String[] pair = word.split("=", 2);
                    writer.prefix(pair[0], pair[1]);
                }
            }
            for (String line : Files.readAllLines(in)) {
                Text.parse(line, Text.arity(line) == 4, writer);
            }
            writer.finish();
        }
    }

    private static Lang lang(String format) {
        return switch (format) {
            case "thrift" -> ResultSetLang.RS_Thrift;
            case "protobuf" -> ResultSetLang.RS_Protobuf;
            case "xml" -> ResultSetLang.RS_XML;
            default -> ResultSetLang.RS_JSON;
        };
    }

    static void results(String format, Path in, String target, Path out) throws IOException {
        try (InputStream from = Files.newInputStream(in); OutputStream to = Files.newOutputStream(out)) {
            ResultSet rows = ResultsReader.create().lang(lang(format)).read(from);
            ResultsWriter.create().lang(lang(target)).write(to, rows);
        }
    }
}
