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
    , detail_(
          std::move(what) + ": no majority, " + std::to_string(quorum.majority()) + " of " +
          std::to_string(quorum.size()) + " servers are needed")
{
}

void VerdictBuilder::add(std::string const& node, std::string const& words)
{
    detail_ += "; ";
    // most errors begin with the name of their server
    if (!words.starts_with(node))
        detail_.append(node).append(": ");
    detail_ += words;
}

void VerdictBuilder::add_failure(std::string const& node, Failure const& failure)
{
    auto const& error = failure.error;
    add(node, failure.detail.empty() ? error ? error.message() : std::string("not asked in time") : failure.detail);
    fatal_ += failure.fatal ? 1U : 0U;
    in_doubt_ = in_doubt_ || failure.may_take_effect();
    // what a person can act upon says more than that something did not answer
    bool const says_more = !error_ || error_ == errc::store_unavailable;
    if (error && says_more)
        error_ = error;
}

void VerdictBuilder::add_silence(std::string const& node)
{
    add(node, "no answer in time");
    in_doubt_ = true;
}

Failure VerdictBuilder::take(Failure::Effect effect)
{
    auto const error = error_ ? error_ : make_error_code(errc::store_unavailable);
    bool const fatal = effect != Failure::Effect::unknown && fatal_ >= veto_;
    return {effect, error, std::move(detail_), fatal};
}

} // namespace tenure::redlock
