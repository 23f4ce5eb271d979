# The tests that need a card, then the same kernels under compute-sanitizer: sh test.sh PROGRAM [PART]. PART is tests, memcheck or racecheck; all by default.
# Left out there: the twin of prediction, which takes minutes, and whole trainings, whose kernels are those of the tests of sums and of Newton's method.
set -e
program=$1
part=${2:-all}
if [ $part = all ] || [ $part = tests ]; then
	"$program" --ignored --test-threads 1 card
fi
if ! command -v compute-sanitizer >/dev/null; then
	echo "no compute-sanitizer; memory and races are not checked"
	exit 0
fi
for tool in memcheck racecheck; do
	if [ $part = all ] || [ $part = $tool ]; then
		# Newton's method with up to 600 vectors takes racecheck more than three minutes; a round with up to 225 goes the same ways through all kernels.
		large=; [ $tool = memcheck ] || large="--skip newtons_method_on_a_card"
		compute-sanitizer --tool $tool --error-exitcode 9 "$program" --ignored --test-threads 1 card --skip its_twin_does --skip training_on_a_card --skip distillation_on_a_card $large
	fi
done
