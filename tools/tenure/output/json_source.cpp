// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Boost.JSON as part of this program: its compiled library need not be installed.
#include <boost/json/src.hpp>
