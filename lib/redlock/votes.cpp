// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "votes.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::redlock
{

KeyRangePtr single_key(KeyRangePtr const& range, std::uint32_t index)
{
    if (range->count == 1)
        return range;
    return std::make_shared<KeyRange const>(KeyRange{range->prefix, range->first + index, 1, range->numbered});
}

VerdictBuilder::VerdictBuilder(Quorum const& quorum, std::string what)
    : veto_(quorum.veto())
{
    verdict_.detail = std::move(what) + ": no majority, " + std::to_string(quorum.majority()) + " of " +
                      std::to_string(quorum.size()) + " servers are needed";
}

void VerdictBuilder::add(std::string const& node, std::string const& words)
{
    verdict_.detail += "; ";
    // most errors begin with the name of their server
    if (!words.starts_with(node))
        verdict_.detail.append(node).append(": ");
    verdict_.detail += words;
}

void VerdictBuilder::add_failure(std::string const& node, error_code error, std::string const& detail, bool fatal)
{
    add(node, detail.empty() ? error ? error.message() : std::string("not asked in time") : detail);
    fatal_ += fatal ? 1U : 0U;
    // what a person can act upon says more than that something did not answer
    bool const says_more = !verdict_.error || verdict_.error == errc::store_unavailable;
    if (error && says_more)
        verdict_.error = error;
}

void VerdictBuilder::add_silence(std::string const& node)
{
    add(node, "no answer in time");
    in_doubt();
}

Verdict VerdictBuilder::take()
{
    verdict_.fatal = fatal_ >= veto_;
    if (!verdict_.error)
        verdict_.error = errc::store_unavailable;
    return std::move(verdict_);
}

} // namespace tenure::redlock
