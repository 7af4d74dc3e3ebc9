// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;

/** On this machine. */
class VerbsAbiTest extends AbiContract {
    @Override
    Class<?> onTarget(Class<?> layouts) {
        return layouts;
    }

    @Override
    CCompiler.Result compile(String name, List<String> expressions) throws Exception {
        Requirements.verbsHeaders(directory);
        StringBuilder source = new StringBuilder(INCLUDES).append("int main(void) {\n");
        for (String expression : expressions) {
            source.append("    printf(\"%lld\\n\", (long long) (")
                    .append(expression)
                    .append("));\n");
        }
        return CCompiler.program(
                directory, name, source.append("    return 0;\n}\n").toString());
    }

    @Override
    List<Long> evaluate(String name, List<String> expressions) throws Exception {
        CCompiler.Result result = compile(name, expressions);
        assertThat(result.ok()).as(result.output()).isTrue();
        return result.output().lines().map(Long::valueOf).toList();
    }
}
