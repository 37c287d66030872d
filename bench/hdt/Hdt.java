import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.rdfhdt.hdt.enums.RDFNotation;
import org.rdfhdt.hdt.hdt.HDTManager;
import org.rdfhdt.hdt.options.HDTSpecification;

/**
 * HDT as a peer of the benches. Commands on standard input, separated by tabs, one a line:
 *
 * <pre>
 * make  IN.nt OUT.hdt
 * count IN.hdt          opens the file, goes through its triples as strings, and gives their number
 * </pre>
 */
public final class Hdt {
    public static void main(String[] args) throws Exception {
        var commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split("\t");
            try {
                System.out.println("ok\t" + (words[0].equals("make") ? make(words[1], words[2]) : count(words[1])));
            } catch (Exception | Error error) {
                System.out.println("error\t" + error.toString().replaceAll("\\s+", " "));
            }
            System.out.flush();
        }
    }

    private static long make(String in, String out) throws Exception {
        try (var made = HDTManager.generateHDT(in, "http://e/", RDFNotation.NTRIPLES, new HDTSpecification(), null)) {
            made.saveToHDT(out, null);
            return made.getTriples().getNumberOfElements();
        }
    }

    private static long count(String in) throws Exception {
        long n = 0;
        try (var hdt = HDTManager.mapHDT(in)) {
            for (var found = hdt.search("", "", ""); found.hasNext(); n++) {
                var triple = found.next();
                triple.getSubject().length();
                triple.getPredicate().length();
                triple.getObject().length();
            }
        }
        return n;
    }
}
