# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
.PHONY: help check demo verify suites style format docs

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

check: style ## style and unit tests, without root; before a pull request
	mvn -B -ntp -q -Dspotless.check.skip -Dcheckstyle.skip verify -DskipITs

demo: ## TPC-DS with sort shuffle and with ours, compared
	bin/demo

verify: ## all tests that need no RDMA device
	mvn -B verify

suites: ## Spark's own test suites with ours
	bin/spark-suites

style: ## verify the format of every source file, without a build
	mvn -B -q -ntp spotless:check@check-format checkstyle:check@check-style

format: ## format the Java sources
	mvn -B -q spotless:apply

docs: ## regenerate docs/configuration.md, the table of docs/metrics.md and the chart of README.md
	bin/lib/speedup-chart.sh >docs/images/speedup.svg
	mvn -B -q -pl plugin -am test -Dtest=ConfigurationDocTest,MetricsDocTest -Dsurefire.failIfNoSpecifiedTests=false -Dregenerate.docs=true
