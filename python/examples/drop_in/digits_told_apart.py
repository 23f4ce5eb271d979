"""Handwritten digits: the first half to learn from, the second half to be recognised.

    python digits_told_apart.py
"""

from sklearn.datasets import load_digits
from sklearn.metrics import classification_report, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

digits = load_digits()
rows = digits.images.reshape((len(digits.images), -1))
train, test, y_train, y_test = train_test_split(rows, digits.target, test_size=0.5, shuffle=False)
predicted = SVC(gamma=0.001).fit(train, y_train).predict(test)
report = classification_report(y_test, predicted, output_dict=True)
print("accuracy", report["accuracy"], "recall of threes", report["3"]["recall"], "threes taken for others", confusion_matrix(y_test, predicted)[3].sum() - report["3"]["recall"] * report["3"]["support"])
