// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/ended_claim.hpp"
#include "store/memory/backend.hpp"
#include "store/memory/domain.hpp"

#include <tenure/conformance/subject.hpp>

#include <atomic>
#include <string>

namespace tenure::test
{

namespace
{

class MemorySubject final : public conformance::Subject
{
public:
    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return memory::make_backend(std::move(runtime), name_);
    }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        domain_->overwrite(key, value, ttl, Clock::now());
    }
    void erase(std::string const& key) override { domain_->remove(key); }
    std::optional<std::string> value(std::string const& key) override
    {
        for (auto const& state : domain_->inspect(*named_key(key), Clock::now())) {
            if (state.kind == KeyState::Kind::held)
                return state.owner;
            if (state.kind == KeyState::Kind::resting)
                return resting_value(state.owner);
            if (state.kind == KeyState::Kind::kept)
                return kept_value(state.owner);
        }
        return std::nullopt;
    }

private:
    static std::string next_name()
    {
        static std::atomic<int> number{0};
        return "conformance-" + std::to_string(++number);
    }

    std::string name_ = next_name();
    std::shared_ptr<memory::Domain> domain_ = memory::Domain::named(name_);
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    return std::make_unique<test::MemorySubject>();
}
